"""Parsed records in any order -> columns of networks, and organisations by handle.

Networks and the organisations they name stand in different files and in any order, so a network keeps
only the number of its handle, and the join is made when everything has been read.

Invariant: grows with the number of networks and of different texts, never with the size of the files: texts
are kept once, raw, and a network is nine numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ipmicra.addresses import AddressRange, Family
from ipmicra.registry.parsers.fields import Labels, Numbers
from ipmicra.registry.parsers.parse_statistics import Tally

ROWS_PER_FLUSH = 1 << 16
LOW_64_BITS = (1 << 64) - 1


class _Numbers(dict[bytes, int]):
    """Texts -> numbers; a text that is asked for the first time gets the next one."""

    def __missing__(self, text: bytes) -> int:
        number = self[text] = len(self)
        return number


class TextPool:
    """Different texts, numbered in order of appearance; number 0 is the empty text."""

    def __init__(self) -> None:
        self.numbers = _Numbers({b"": 0})
        self.number = self.numbers.__getitem__

    def numbered(self, texts: list[bytes]) -> Labels:
        return np.fromiter(map(self.number, texts), np.uint32, len(texts))


class Organisation(NamedTuple):
    """The fields of an organisation object."""

    name: bytes
    country: bytes


class RangeBounds(NamedTuple):
    """First and last address of many ranges, as high and low 64 bits."""

    first_high: Numbers
    first_low: Numbers
    last_high: Numbers
    last_low: Numbers


class NetworkColumns(NamedTuple):
    """Networks of one family: bounds as above, then labels, which are numbers of Texts (asn: itself)."""

    first_high: Numbers
    first_low: Numbers
    last_high: Numbers
    last_low: Numbers
    handle: Labels
    name: Labels
    country: Labels
    registry: Labels
    status: Labels
    asn: Labels
    file: Labels


LABELS = ("handle", "name", "country", "registry", "status", "asn")
_Row = tuple[int, int, int, int, int, int, int, int, int]


class Accumulator:
    """Everything that was found so far, over all files."""

    def __init__(self) -> None:
        self.tally = Tally()
        self.handles, self.names, self.words, self.files = TextPool(), TextPool(), TextPool(), TextPool()
        self.organisations: dict[bytes, Organisation] = {}
        self._rows: dict[Family, list[_Row]] = {4: [], 6: []}
        self._columns: dict[Family, list[NetworkColumns]] = {4: [], 6: []}
        self._file = 0

    def begin_file(self, name: str) -> None:
        """Attribute the records that follow to this file."""
        self._flush()
        self._file = self.files.number(name.encode())

    def add(
        self,
        place: AddressRange,
        handle: bytes = b"",
        name: bytes = b"",
        country: bytes = b"",
        registry: bytes = b"",
        status: bytes = b"",
        asn: int = 0,
    ) -> None:
        """One network; empty texts are unknown."""
        family, first, end = place
        word = self.words.number
        rows = self._rows[family]
        rows.append(
            (
                first,
                end - 1,
                self.handles.number(handle),
                self.names.number(name),
                word(country),
                word(registry),
                word(status),
                asn,
                self._file,
            )
        )
        if len(rows) >= ROWS_PER_FLUSH:
            self._flush()

    def add_columns(self, family: Family, bounds: RangeBounds, labels: Mapping[str, Labels]) -> None:
        """Many networks at once; a column that is not given is unknown throughout."""
        self._flush()
        count = len(bounds.first_high)
        blank = np.zeros(count, np.uint32)
        file = np.full(count, self._file, np.uint32)
        handle, name, country, registry, status, asn = (labels.get(label, blank) for label in LABELS)
        self._columns[family].append(
            NetworkColumns(*bounds, handle, name, country, registry, status, asn, file)
        )
        self.tally.read += count

    def add_organisation(self, handle: bytes, name: bytes, country: bytes) -> None:
        """An organisation object; the first one that says a name counts."""
        known = self.organisations.get(handle)
        if known is None or not known.name:
            self.organisations[handle] = Organisation(name, country)
        self.tally.read += 1

    def columns(self, family: Family) -> NetworkColumns:
        """All networks of a family, in the order they were added file by file."""
        self._flush()
        parts = self._columns[family] or [_transposed([])]
        return NetworkColumns(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def _flush(self) -> None:
        for family, rows in self._rows.items():
            if rows:
                self._columns[family].append(_transposed(rows))
                self.tally.read += len(rows)
                rows.clear()


def _transposed(rows: list[_Row]) -> NetworkColumns:
    firsts, lasts, *labels = zip(*rows, strict=True) if rows else ((),) * 9
    return NetworkColumns(
        *_halves(firsts),
        *_halves(lasts),
        *(np.array(column, np.uint32) for column in labels),
    )


def _halves(values: tuple[int, ...]) -> tuple[Numbers, Numbers]:
    high = np.array([value >> 64 for value in values], np.uint64)
    return high, np.array([value & LOW_64_BITS for value in values], np.uint64)
