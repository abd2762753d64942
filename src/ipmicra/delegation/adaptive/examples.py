"""Vectors of round trips with the facts they belong to -> a memory of examples, in arrays.

An example says: something of these facts has these round trips to the crawlers. `values_ms` holds them,
`doubts_ms` how far each may be off for want of a measurement (0 where it was measured).

Law: bounded. `Examples` of sites are a ring: when full, the oldest gives its row to the newest. Every
entry is a finite number, whoever joins or leaves.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from ipmicra.delegation.adaptive.arrays import Floats, Keys, Whole
from ipmicra.delegation.adaptive.facts import Facts

FIRST_ROWS = 64


class Kind(IntEnum):
    """Where an example comes from. Each kind has its own spread."""

    SITE = 0  # measured in part, the rest believed
    CRAWLER = 1  # somebody next door to a crawler
    PLACE = 2  # somebody in a town, by distance
    TWIN = 3  # a site again, taken for one of the same machine room: no shift, hardly a spread


class Examples:
    """Rows of facts and round trips; columns are crawlers in the order they joined."""

    def __init__(self, crawlers: int, rows_max: int) -> None:
        self.rows_max = rows_max
        self.count = 0
        self._next = 0
        rows = min(FIRST_ROWS, rows_max)
        self.values_ms: Floats = np.zeros((rows, crawlers))
        self.doubts_ms: Floats = np.zeros((rows, crawlers))
        self.masses: Floats = np.zeros(rows)
        self.kinds: Whole = np.zeros(rows, dtype=np.int64)
        self._facts: Whole = np.zeros((5, rows), dtype=np.int64)
        self._keys: Keys = np.zeros(rows, dtype=np.uint64)

    def add(self, facts: Facts, values_ms: Floats, doubts_ms: Floats, kind: Kind, mass: float) -> int:
        """The row it was written to."""
        if self._next == len(self.masses) < self.rows_max:
            self._grow()
        row = self._next
        self._next = (row + 1) % self.rows_max
        self.count = max(self.count, row + 1)
        self.values_ms[row], self.doubts_ms[row] = values_ms, doubts_ms
        self.masses[row], self.kinds[row] = mass, kind
        self._facts[:, row] = facts[:5]
        self._keys[row] = facts.key
        return row

    def age(self, row: int) -> int:
        """How many rows were written after this one, counting round the ring."""
        return (self._next - 1 - row) % self.rows_max

    def _grow(self) -> None:
        more = min(len(self.masses), self.rows_max - len(self.masses))
        self.values_ms = np.pad(self.values_ms, ((0, more), (0, 0)))
        self.doubts_ms = np.pad(self.doubts_ms, ((0, more), (0, 0)))
        self.masses, self.kinds = np.pad(self.masses, (0, more)), np.pad(self.kinds, (0, more))
        self._facts, self._keys = np.pad(self._facts, ((0, 0), (0, more))), np.pad(self._keys, (0, more))

    @property
    def crawlers(self) -> int:
        return int(self.values_ms.shape[1])

    # --- columns ------------------------------------------------------------

    def add_column(self, values_ms: Floats, doubts_ms: Floats) -> None:
        """A crawler joined; this is what each row is believed to be to it."""
        self.values_ms = np.concatenate([self.values_ms, np.zeros((len(self.masses), 1))], axis=1)
        self.doubts_ms = np.concatenate([self.doubts_ms, np.zeros((len(self.masses), 1))], axis=1)
        self.values_ms[: self.count, -1] = values_ms
        self.doubts_ms[: self.count, -1] = doubts_ms

    def drop_column(self, column: int) -> None:
        self.values_ms = np.delete(self.values_ms, column, axis=1)
        self.doubts_ms = np.delete(self.doubts_ms, column, axis=1)

    # --- facts, the rows in use only ---------------------------------------

    @property
    def identities(self) -> Whole:
        """Country, system, organisation and subnet: four rows, one column an example."""
        return self._facts[:4, : self.count]

    @property
    def countries(self) -> Whole:
        return self._facts[0, : self.count]

    @property
    def families(self) -> Whole:
        return self._facts[4, : self.count]

    @property
    def keys(self) -> Keys:
        return self._keys[: self.count]
