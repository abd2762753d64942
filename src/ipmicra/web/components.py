"""Rows and figures -> the pieces that pages are made of: figures, tables, tags, bars.

Invariant: no I/O. Table cells carry the name of their column, so that a narrow screen can stack them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import htpy as h


class Figure(NamedTuple):
    """One number with its name. `key` is how a live update finds it."""

    key: str
    name: str
    number: str
    note: str = ""
    proud: bool = False


class TableColumn(NamedTuple):
    name: str
    numeric: bool = False


def figures(shown: Iterable[Figure]) -> h.Element:
    return h.dl(".figures")[(_figure(figure) for figure in shown)]


def _figure(figure: Figure) -> h.Element:
    return h.div(class_=["figure", {"proud": figure.proud}])[
        h.dt[figure.name],
        h.dd(".number", data_figure=figure.key)[figure.number],
        h.dd(".note", data_figure=f"{figure.key}-note")[figure.note],
    ]


def table(
    columns: Sequence[TableColumn | str],
    rows: Iterable[Sequence[h.Node]],
    *,
    caption: str = "",
    empty: str = "Nothing yet.",
) -> h.Renderable:
    """A table whose first cell names the row; the text `empty` if there are no rows."""
    heads = [column if isinstance(column, TableColumn) else TableColumn(column) for column in columns]
    body = [_row(heads, row) for row in rows]
    if not body:
        return h.p(".quiet")[empty]
    return h.div(".scroll", tabindex="0", role="region", aria_label=caption or heads[0].name)[
        h.table(".stacked")[
            h.caption[caption] if caption else None,
            h.thead[h.tr[(h.th(scope="col", class_={"n": c.numeric})[c.name] for c in heads)]],
            h.tbody[body],
        ]
    ]


def _row(heads: Sequence[TableColumn], cells: Sequence[h.Node]) -> h.Element:
    first, *others = zip(heads, cells, strict=True)
    return h.tr[
        h.th(scope="row", data_label=first[0].name)[first[1]],
        (
            h.td(class_={"n": head.numeric}, data_label=head.name)[
                cell if cell not in ("", None) else "–"
            ]
            for head, cell in others
        ),
    ]


def facts(pairs: Iterable[tuple[str, h.Node]]) -> h.Element:
    return h.dl(".facts")[((h.dt[name], h.dd[value]) for name, value in pairs)]


def tag(word: str, meaning: str = "") -> h.Element:
    """A word with a colour: good, warn, bad or own."""
    return h.span(class_=["tag", meaning])[word]


def panel(title: str, *content: h.Node) -> h.Element:
    return h.section(".panel")[h.h2[title], content]


def notice(content: h.Node, meaning: str = "") -> h.Element:
    return h.div(class_=["notice", meaning], role="status")[h.p[content]]


def behind(summary: str, content: h.Node) -> h.Element:
    """Content that opens below a summary, such as the table of a picture."""
    return h.details[h.summary[summary], content]


def bar(share: float) -> h.Element:
    """A bar of this length; the number is shown next to it."""
    width = f"{max(0.0, min(1.0, share)) * 100:.1f}%"
    svg, rect = h.Element("svg"), h.Element("rect")
    return svg(".bar", aria_hidden="true")[
        rect(".track", width="100%", height="100%", rx="3"), rect(width=width, height="100%", rx="3")
    ]
