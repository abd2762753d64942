"""`ipmicra lab run NAME`: one experiment, to the terminal, to files, to its page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click
from rich.progress import Progress

from ipmicra.cli import terminal
from ipmicra.cli.display.findings_output import rendered, write_page, write_results
from ipmicra.cli.options.trial_options import chosen_data_source, jitter_of, trial_options
from ipmicra.lab.experiments import experiment
from ipmicra.lab.harness import ExperimentHarness

FOLDERS = ("data", "registry", "noise")


@click.command()
@click.argument("name")
@trial_options
@click.option(
    "--out", type=click.Path(path_type=Path), help="Folder for NAME.json and the plots (SVG, PNG)."
)
@click.option(
    "--page",
    "page_file",
    type=click.Path(path_type=Path),
    help="Write the Markdown page, its SVGs beside it.",
)
@terminal.json_option
@click.pass_context
def command(
    context: click.Context,
    name: str,
    data: Path | None,
    registry: Path | None,
    draws: int,
    seed: int,
    sites: int | None,
    noise: str | None,
    jobs: int,
    out: Path | None,
    page_file: Path | None,
    as_json: bool,
) -> None:
    """Run one experiment; `ipmicra lab list` names them.

    \b
    Examples:
      ipmicra lab run figure-4
      ipmicra lab run figure-3 --data anchors-world --registry registries --out results
      ipmicra lab run noise --data anchors-world --registry registries --noise anchors-hourly
      ipmicra lab run figure-5 --page docs/experiments/figure-5.md
    """
    chosen = experiment(name)
    found = chosen_data_source(context, data, registry, seed)
    with terminal.progress() as bars:
        harness = ExperimentHarness(
            found.world, found.tree_file, draws, seed, sites, jitter_of(noise), jobs, _watch(bars)
        )
        findings = chosen.run(harness)
    if out is not None:
        write_results(findings, name, out)
    if page_file is not None:
        write_page(chosen, findings, _typed(context, name), page_file)
    terminal.show(findings, as_json, lambda: rendered(findings))


def _watch(bars: Progress) -> Callable[[str, int], Callable[[], object]]:
    def begin(label: str, total: int) -> Callable[[], object]:
        bar = bars.add_task(label, total=total)
        return lambda: bars.advance(bar)

    return begin


def _typed(context: click.Context, name: str) -> str:
    """The command that gives these findings again; data folders by their last name."""
    words = [f"ipmicra lab run {name}"]
    for option in ("data", "registry", "draws", "seed", "sites", "noise"):
        value = context.params[option]
        if value is not None:
            words.append(f"--{option} {Path(value).name if option in FOLDERS else value}")
    return " ".join(words)
