"""Findings -> the terminal, files of results and plots, and the page in the documentation."""

from __future__ import annotations

from pathlib import Path

import msgspec
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table

from ipmicra.cli import terminal
from ipmicra.lab.findings import Findings, Tabulated
from ipmicra.lab.pages import PageQuestion, page
from ipmicra.lab.plots import drawn


def write_results(findings: Findings, name: str, folder: Path) -> None:
    written = drawn(findings, folder, name)
    results = folder / f"{name}.json"
    results.write_bytes(msgspec.json.format(msgspec.json.encode(findings), indent=1))
    for path in (results, *written):
        terminal.print_note(f"wrote {path}")


def write_page(chosen: PageQuestion, findings: Findings, typed: str, file: Path) -> None:
    images = drawn(findings, file.parent, file.stem, kinds=("svg",))
    file.write_text(page(chosen, findings, typed, [image.name for image in images]), encoding="utf-8")
    for path in (file, *images):
        terminal.print_note(f"wrote {path}")


def rendered(findings: Findings) -> RenderableType:
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
