"""A CSV file, plain or gzipped -> rows by column name, or the operator's fault with file and line.

Invariant: needed columns are checked before the first row is used; further columns and their order are free.
"""

from __future__ import annotations

import csv
import gzip
import ipaddress
import math
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from ipmicra.addresses import IPAddress
from ipmicra.errors import OperatorFault


class CsvRow(NamedTuple):
    """One row: its cells, the columns' places in it, and where it stands."""

    columns: dict[str, int]
    cells: list[str]
    path: Path
    line: int

    @property
    def where(self) -> str:
        return f"{self.path}:{self.line}"

    def text(self, column: str) -> str:
        """The cell without surrounding blanks; empty where the column or the cell is missing."""
        place = self.columns.get(column, len(self.cells))
        return self.cells[place].strip() if place < len(self.cells) else ""

    def number(self, column: str) -> float | None:
        """The cell as a finite number; None where it is empty."""
        text = self.text(column)
        if not text:
            return None
        try:
            value = float(text)
        except ValueError:
            raise OperatorFault(f"{self.where}: {column} {text!r} is not a number") from None
        return value if math.isfinite(value) else None

    def address(self, column: str) -> IPAddress | None:
        """The cell as an address; None where it is empty."""
        text = self.text(column)
        try:
            return ipaddress.ip_address(text) if text else None
        except ValueError:
            raise OperatorFault(f"{self.where}: {column} {text!r} is not an address") from None

    def round_trip_ms(self, column: str) -> float | None:
        """A measured round trip; None for an empty cell or a negative value (a failed measurement)."""
        value = self.number(column)
        return value if value is not None and value >= 0 else None


def existing_file(folder: Path, name: str) -> Path | None:
    """`name` or `name.gz` in the folder."""
    candidates = [folder / name, folder / f"{name}.gz"]
    return next((path for path in candidates if path.is_file()), None)


def needed(folder: Path, name: str) -> Path:
    path = existing_file(folder, name)
    if path is None:
        raise OperatorFault(f"{folder} holds neither {name} nor {name}.gz")
    return path


def ending(folder: Path, name_end: str) -> Path | None:
    """The first file whose name ends so, or so with `.gz` behind it."""
    names = (path for path in sorted(folder.glob(f"*{name_end}*")) if path.is_file())
    return next((path for path in names if path.name.endswith((name_end, f"{name_end}.gz"))), None)


def needed_ending(folder: Path, name_end: str) -> Path:
    path = ending(folder, name_end)
    if path is None:
        raise OperatorFault(f"{folder} holds no file *{name_end} or *{name_end}.gz")
    return path


@contextmanager
def opened(path: Path) -> Iterator[IO[str]]:
    """The file as text; what cannot be read is the operator's fault."""
    try:
        if path.suffix == ".gz":
            with gzip.open(path, "rt", encoding="utf-8-sig", newline="") as file:
                yield file
        else:
            with path.open(encoding="utf-8-sig", newline="") as file:
                yield file
    except (OSError, EOFError, UnicodeDecodeError, zlib.error, csv.Error) as error:
        raise OperatorFault(f"cannot read {path}: {error}") from error


def rows(path: Path, columns: Sequence[str]) -> Iterator[CsvRow]:
    """The rows of a CSV file that has at least these columns."""
    with opened(path) as file:
        reader = csv.reader(file)
        header = [name.strip() for name in next(reader, [])]
        missing = [column for column in columns if column not in header]
        if missing:
            raise OperatorFault(
                f"{path}: no column {', '.join(missing)}; its first line reads {','.join(header)!r}"
            )
        places = {name: place for place, name in enumerate(header)}
        for cells in reader:
            if cells:
                yield CsvRow(places, cells, path, reader.line_num)
