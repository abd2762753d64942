"""Many rows -> few statements: as many in one as both databases take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

ROWS_AT_ONCE = 500  # in one statement: SQLite takes some 32,000 values

Row = TypeVar("Row")


def in_batches(rows: Sequence[Row], most: int = ROWS_AT_ONCE) -> Iterator[Sequence[Row]]:
    for at in range(0, len(rows), most):
        yield rows[at : at + most]
