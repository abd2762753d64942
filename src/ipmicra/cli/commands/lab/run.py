"""`ipmicra lab run NAME`: one experiment, to the terminal, to files, to its page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click
import msgspec
from rich import box
from rich.console import Group, RenderableType
from rich.progress import Progress
from rich.table import Table

from ipmicra.cli import terminal
from ipmicra.cli.trial_options import ground_of, jitter_of, trial_options
from ipmicra.lab.experiments import experiment
from ipmicra.lab.findings import Findings, Tabulated
from ipmicra.lab.kit import Experiment, Kit
from ipmicra.lab.pages import page
from ipmicra.lab.plots import drawn

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
    found = ground_of(context, data, registry, seed)
    with terminal.progress() as bars:
        kit = Kit(found.world, found.tree_file, draws, seed, sites, jitter_of(noise), jobs, _watch(bars))
        findings = chosen.run(kit)
    if out is not None:
        _write_results(findings, name, out)
    if page_file is not None:
        _write_page(chosen, findings, _typed(context, name), page_file)
    terminal.show(findings, as_json, lambda: _rendered(findings))


def _watch(bars: Progress) -> Callable[[str, int], Callable[[], object]]:
    def begin(label: str, total: int) -> Callable[[], object]:
        bar = bars.add_task(label, total=total)
        return lambda: bars.advance(bar)

    return begin


def _write_results(findings: Findings, name: str, folder: Path) -> None:
    written = drawn(findings, folder, name)
    results = folder / f"{name}.json"
    results.write_bytes(msgspec.json.format(msgspec.json.encode(findings), indent=1))
    for path in (results, *written):
        terminal.remark(f"wrote {path}")


def _write_page(chosen: Experiment, findings: Findings, typed: str, file: Path) -> None:
    images = drawn(findings, file.parent, file.stem, kinds=("svg",))
    file.write_text(page(chosen, findings, typed, [image.name for image in images]), encoding="utf-8")
    for path in (file, *images):
        terminal.remark(f"wrote {path}")


def _typed(context: click.Context, name: str) -> str:
    """The command that gives these findings again; data folders by their last name."""
    words = [f"ipmicra lab run {name}"]
    for option in ("data", "registry", "draws", "seed", "sites", "noise"):
        value = context.params[option]
        if value is not None:
            words.append(f"--{option} {Path(value).name if option in FOLDERS else value}")
    return " ".join(words)


def _rendered(findings: Findings) -> RenderableType:
    tables = [_table(table) for table in findings.tables]
    return Group(*tables, *findings.verdict)


def _table(tabulated: Tabulated) -> Table:
    table = Table(title=tabulated.title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in tabulated.columns:
        in_words = any(isinstance(row.get(column.key), str) for row in tabulated.rows)
        widest = max(len(column.written(row)) for row in tabulated.rows)
        table.add_column(column.heading, justify="left" if in_words else "right", min_width=widest)
    for row in tabulated.rows:
        table.add_row(*(column.written(row) for column in tabulated.columns))
    return table
