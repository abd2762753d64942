"""Records of the registries -> columns of allocations, ready to be made a tree.

`Allocation` is one record. `Allocations` is the collection: parsers append one record at a time, or,
where there are millions, a batch of columns. Texts become numbers in its tables
(`countries.number("DE")`), blank is 0; an organisation is a number of `organisations`, -1 for unknown.

Invariant: the order of appending is the order of trust. Where several records have the same range, the
one appended first is used, and later ones fill its blank fields. So append the most detailed files first:
databases and bulk WHOIS, then delegated statistics, then what was seen in routing.

Columns hold the *last* address of a range, since one past the last does not fit them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ipmicra.addresses import AddressRange, Family
from ipmicra.hierarchy.organisation import UNKNOWN, Organisations
from ipmicra.hierarchy.texts import TextTable

LOW_64 = (1 << 64) - 1
BUFFERED_RECORDS_MAX = 65536

# What is said of a range, and how wide its column is.
FACTS: dict[str, type[np.int32 | np.uint32 | np.uint16]] = {
    "organisation": np.int32,
    "country": np.uint16,
    "registry": np.uint16,
    "status": np.uint16,
    "source": np.uint16,
    "asn": np.uint32,
}


class Allocation(NamedTuple):
    """One record: a range, its holder, and its source. Blank is unknown."""

    range: AddressRange
    handle: str = ""
    name: str = ""
    country: str = ""
    registry: str = ""
    status: str = ""
    source: str = ""
    asn: int = 0


@dataclass(frozen=True)
class AllocationColumns:
    """The facts about the ranges of a batch, as numbers: one column each, or one number for all."""

    organisation: ArrayLike = UNKNOWN
    country: ArrayLike = 0
    registry: ArrayLike = 0
    status: ArrayLike = 0
    source: ArrayLike = 0
    asn: ArrayLike = 0


class Allocations:
    """A growing collection of allocations of both families, by column."""

    def __init__(self) -> None:
        self.organisations = Organisations()
        self.countries = TextTable()
        self.registries = TextTable()
        self.statuses = TextTable()
        self.sources = TextTable()
        self._batches: dict[Family, list[dict[str, NDArray[np.generic]]]] = {4: [], 6: []}
        self._records: dict[Family, list[tuple[int, ...]]] = {4: [], 6: []}
        self._count: dict[Family, int] = {4: 0, 6: 0}

    def append(self, allocation: Allocation) -> None:
        """One record; about 2 us."""
        family, start, end = allocation.range
        if not 0 <= start < end <= AddressRange.whole(family).end:
            raise ValueError(f"{allocation.range!r} is not a range of IPv{family} addresses")
        facts = self._numbered(allocation)
        last = end - 1
        if family == 4:
            self._records[4].append((start, last, *facts))
        else:
            bounds = (start >> 64, start & LOW_64, last >> 64, last & LOW_64)
            self._records[6].append((*bounds, *facts))
        self._count[family] += 1
        if len(self._records[family]) >= BUFFERED_RECORDS_MAX:
            self._flush(family)

    def append_v4(self, starts: ArrayLike, lasts: ArrayLike, facts: AllocationColumns) -> None:
        """A batch of IPv4 ranges from `starts` to `lasts`, both included."""
        first, last = np.asarray(starts, np.uint32), np.asarray(lasts, np.uint32)
        if first.shape != last.shape or first.ndim != 1:
            raise ValueError(f"starts {first.shape} and lasts {last.shape} are not a pair of columns")
        if (last < first).any():
            raise ValueError("a range of the batch ends before it begins")
        self._flush(4)
        self._keep(4, {"start": first, "last": last}, facts)

    def append_v6(self, starts: ArrayLike, lasts: ArrayLike, facts: AllocationColumns) -> None:
        """The same for IPv6; an address is a row of two: the high and the low 64 bits."""
        first, last = np.asarray(starts, np.uint64), np.asarray(lasts, np.uint64)
        if first.shape != last.shape or first.ndim != 2 or first.shape[1] != 2:
            raise ValueError(f"starts {first.shape} and lasts {last.shape} are not rows of two halves")
        high, low = first[:, 0], first[:, 1]
        if ((last[:, 0] < high) | ((last[:, 0] == high) & (last[:, 1] < low))).any():
            raise ValueError("a range of the batch ends before it begins")
        self._flush(6)
        self._keep(6, {"start": first, "last": last}, facts)

    def count(self, family: Family) -> int:
        return self._count[family]

    def __len__(self) -> int:
        return self._count[4] + self._count[6]

    def column(self, family: Family, name: str) -> NDArray[np.generic]:
        """One column whole, in the order of appending: "start", "last", or one of `FACTS`."""
        self._flush(family)
        pieces = [batch[name] for batch in self._batches[family]]
        return np.concatenate(pieces) if pieces else _no_rows(family, name)

    def _numbered(self, allocation: Allocation) -> tuple[int, ...]:
        return (
            self.organisations.number(allocation.registry, allocation.handle, allocation.name),
            self.countries.number(allocation.country),
            self.registries.number(allocation.registry),
            self.statuses.number(allocation.status),
            self.sources.number(allocation.source),
            allocation.asn,
        )

    def _flush(self, family: Family) -> None:
        records = self._records[family]
        if not records:
            return
        columns = list(zip(*records, strict=True))
        self._records[family] = []
        self._count[family] -= len(records)
        halves = 1 if family == 4 else 2
        starts, lasts = columns[:halves], columns[halves : 2 * halves]
        bounds = {"start": _bound_column(starts), "last": _bound_column(lasts)}
        self._keep(family, bounds, AllocationColumns(*columns[2 * halves :]))

    def _keep(
        self, family: Family, bounds: dict[str, NDArray[np.generic]], facts: AllocationColumns
    ) -> None:
        length = len(bounds["start"])
        batch = dict(bounds)
        for name, kind in FACTS.items():
            column = np.asarray(getattr(facts, name), kind)
            batch[name] = column if column.ndim else np.broadcast_to(column, length)
            if len(batch[name]) != length:
                raise ValueError(f"column {name} has {len(batch[name])} rows, the ranges {length}")
        self._batches[family].append(batch)
        self._count[family] += length


def _bound_column(halves: list[tuple[int, ...]]) -> NDArray[np.generic]:
    if len(halves) == 1:
        return np.array(halves[0], np.uint32)
    return np.stack([np.array(half, np.uint64) for half in halves], axis=1)


def _no_rows(family: Family, name: str) -> NDArray[np.generic]:
    if name in FACTS:
        return np.zeros(0, FACTS[name])
    return np.zeros(0, np.uint32) if family == 4 else np.zeros((0, 2), np.uint64)
