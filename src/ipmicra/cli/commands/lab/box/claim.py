"""`ipmicra lab box claim NAME`: one claim, or all of them: to the terminal, to files, to their pages."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click
from rich.console import Group

from ipmicra.cli import terminal
from ipmicra.cli.display.findings_output import rendered, write_page, write_results
from ipmicra.cli.options.trial_options import chosen_data_source
from ipmicra.lab.box import claims
from ipmicra.lab.box.trial.harness import BoxClaim, BoxHarness
from ipmicra.lab.box.trial.timing_check import Late
from ipmicra.lab.data_source import DataSource
from ipmicra.lab.findings import Findings

ALL = "all"
TRIES = 3
PAGE_PREFIX = "box-"  # of the pages in docs/experiments


@click.command()
@click.argument("name")
@click.option(
    "--data", type=click.Path(path_type=Path), help="Latency data; by default a generated world."
)
@click.option("--registry", type=click.Path(path_type=Path), help="Registry data, with --data.")
@click.option(
    "--seed",
    type=int,
    default=1,
    show_default=True,
    help="Random seed; the same seed gives the same worlds.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Folder for NAME.json and the plots.")
@click.option(
    "--pages", type=click.Path(path_type=Path), help="Folder for the Markdown pages, SVGs beside them."
)
@click.option(
    "--quick", is_flag=True, help="The smallest world that shows anything; seconds, not minutes."
)
@terminal.json_option
@click.pass_context
def command(
    context: click.Context,
    name: str,
    data: Path | None,
    registry: Path | None,
    seed: int,
    out: Path | None,
    pages: Path | None,
    quick: bool,
    as_json: bool,
) -> None:
    """Show one claim in the box, or all of them; `ipmicra lab box claims` names them.

    A run in which the box's router was late is thrown away and begun again; after three the claim fails.

    \b
    Examples:
      ipmicra lab box claim crawl-time
      ipmicra lab box claim all --out results --pages docs/experiments
      ipmicra lab box claim crawl-time --data anchors-world --registry registries
    """
    data_source = chosen_data_source(context, data, registry, seed)
    wanted = claims.names() if name == ALL else [name]
    chosen = {each: claims.claim(each) for each in wanted}
    found: dict[str, Findings] = {}
    for each, claim in chosen.items():
        findings = found[each] = _believed(claim, data_source, seed, quick)
        if out is not None:
            write_results(findings, each, out)
        if pages is not None:
            write_page(claim, findings, _typed(context, each), pages / f"{_page_name(each, data)}.md")
    terminal.show(found, as_json, lambda: Group(*map(rendered, found.values())))


def _believed(claim: BoxClaim, data_source: DataSource, seed: int, quick: bool) -> Findings:
    """The findings of a run whose router was on time; after several late runs, the fault."""
    for left in reversed(range(TRIES)):
        with tempfile.TemporaryDirectory(prefix="ipmicra-box-") as folder:
            try:
                return claim.run(BoxHarness(data_source, seed, Path(folder), quick, terminal.print_note))
            except Late as late:
                if not left:
                    raise
                terminal.print_note(f"{late}; trying again")
    raise AssertionError("the last try returns or raises")


def _page_name(name: str, data: Path | None) -> str:
    return f"{PAGE_PREFIX}{name}" if data is None else f"{PAGE_PREFIX}{name}-{data.name}"


def _typed(context: click.Context, name: str) -> str:
    """The command that shows it again; data folders by their last name."""
    folders = {option: context.params[option] for option in ("data", "registry")}
    given = [
        f"--{option} {Path(folder).name}" for option, folder in folders.items() if folder is not None
    ]
    return " ".join([f"ipmicra lab box claim {name} --seed {context.params['seed']}", *given])
