"""Findings, and what the paper reports -> one page of Markdown, with the command that made it.

Invariant: no number in a page is typed by hand: ours come from the findings, the paper's from the experiment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ipmicra.lab.findings import Findings, Tabulated


class PageQuestion(Protocol):
    """The question of an experiment, and the papers' report on it."""

    TITLE: str
    PAPER: str


def page(experiment: PageQuestion, findings: Findings, command: str, images: Sequence[str]) -> str:
    """The whole page; `images` are addresses of the plots, relative to it."""
    parts = [
        f"# {experiment.TITLE}",
        "## What the paper reports",
        experiment.PAPER.strip(),
        "## What we find",
        f"{_drawn(findings)} of `{findings.world}`, seed {findings.seed}. Made by",
        f"    {command}",
        *(markdown_table(table) for table in findings.tables),
        *(f"![{plot.title}]({image})" for plot, image in zip(findings.plots, images, strict=True)),
        "## What to think of it",
        *findings.verdict,
    ]
    return "\n\n".join(parts) + "\n"


def _drawn(findings: Findings) -> str:
    return "One draw" if findings.draws == 1 else f"{findings.draws} draws"


def markdown_table(table: Tabulated) -> str:
    """A table as Markdown: words to the left, numbers to the right."""
    head = "| " + " | ".join(column.heading for column in table.columns) + " |"
    rule = "|" + "|".join("---" if _in_words(table, c.key) else "---:" for c in table.columns) + "|"
    rows = [
        "| " + " | ".join(column.written(row) for column in table.columns) + " |" for row in table.rows
    ]
    return "\n".join([f"**{table.title}**\n", head, rule, *rows])


def _in_words(table: Tabulated, key: str) -> bool:
    return any(isinstance(row.get(key), str) for row in table.rows)
