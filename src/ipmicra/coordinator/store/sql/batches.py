"""Many rows -> few SQL statements, each with as many rows as both databases accept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

ROWS_AT_ONCE = 500  # per statement: SQLite accepts about 32,000 values

Row = TypeVar("Row")


def in_batches(rows: Sequence[Row], most: int = ROWS_AT_ONCE) -> Iterator[Sequence[Row]]:
    for at in range(0, len(rows), most):
        yield rows[at : at + most]
