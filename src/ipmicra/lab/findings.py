"""The findings of an experiment as plain data: tables, plots and text, all in the results file.

Invariant: everything that a terminal, a plot or a page shows is in here, so that each can be made again
from the JSON.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

Cell = float | str
FindingsRow = dict[str, Cell]


class FindingsColumn(msgspec.Struct, frozen=True):
    """A column of a table: its heading, the key of its cells, and how a number is written."""

    heading: str
    key: str
    form: str = ".2f"

    def written(self, row: FindingsRow) -> str:
        cell = row.get(self.key, "")
        return cell if isinstance(cell, str) else format(cell, self.form)


class Tabulated(msgspec.Struct, frozen=True):
    """One table. Rows may hold more than the columns show."""

    title: str
    columns: list[FindingsColumn]
    rows: list[FindingsRow]


class Series(msgspec.Struct, frozen=True):
    """One line, or one group of bars, of a plot; `low` and `high` are its spread over the draws."""

    label: str
    x: Sequence[float | str]
    y: list[float]
    low: list[float] = []
    high: list[float] = []
    points_only: bool = False


class Plot(msgspec.Struct, frozen=True):
    """One plot; bars where the first series has words for x."""

    name: str
    title: str
    x_label: str
    y_label: str
    series: list[Series]


class Findings(msgspec.Struct, frozen=True):
    """Everything an experiment found, and what it was found on."""

    experiment: str
    world: str
    draws: int
    seed: int
    tables: list[Tabulated]
    plots: list[Plot]
    verdict: list[str]
    figures: dict[str, float] = {}


def prose(text: str) -> str:
    """A paragraph in one line, however it was broken in the source."""
    return " ".join(text.split())


# The columns that most tables share.
STRATEGY = FindingsColumn("strategy", "strategy")
NEAREST = FindingsColumn("nearest", "optimal_share", ".1%")
WORST_DRAW = FindingsColumn("worst draw", "optimal_share_min", ".1%")
WITHIN_5_MS = FindingsColumn("<5 ms", "within_5ms_share", ".1%")
EXCESS = FindingsColumn("excess ms", "excess_ms_mean")
PROBES = FindingsColumn("probes", "probes_per_site")
PROBES_SPREAD = FindingsColumn("± draws", "probes_per_site_sd")
LAST_50 = FindingsColumn("last 50", "probes_per_site_last_50")
NOT_FREE = FindingsColumn("not free", "probes_beyond_first_fetch_per_site")
COMMON = [STRATEGY, NEAREST, WORST_DRAW, WITHIN_5_MS, EXCESS, PROBES, PROBES_SPREAD, LAST_50, NOT_FREE]
