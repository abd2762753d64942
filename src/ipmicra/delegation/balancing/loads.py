"""Owners, weights and round trips of units -> one snapshot that all policies read.

Invariant: rows are units, columns are crawlers. A policy is judged by true round trips that it does not see.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ipmicra.delegation.balancing.estimates import FloatArray, RoundTripEstimate, RoundTripEstimator

UnitOwners: TypeAlias = NDArray[np.int64]

# Bytes a day are summed as floats: a crawler is full up to this share of its capacity, not overfull.
ROUNDING_SHARE = 1e-9


class RoundTripQuery(NamedTuple):
    """A probe that a policy wants: this crawler to that unit."""

    unit: int
    crawler: int


@dataclass(frozen=True)
class Loads:
    """The state of affairs before balancing."""

    known_ms: FloatArray  # unit by crawler; NaN unknown, infinite silent
    belief: RoundTripEstimator
    bytes_a_day: FloatArray  # of each unit
    capacity_bytes_a_day: FloatArray  # of each crawler
    owner: UnitOwners  # of each unit

    @cached_property
    def believed(self) -> RoundTripEstimate:
        return self.belief(self.known_ms)

    @property
    def costs_ms(self) -> FloatArray:
        """The best that is known of every pair: measured, else believed."""
        return self.believed.round_trips_ms

    def carried(self, owner: UnitOwners) -> FloatArray:
        """The load of every crawler under these owners, in bytes per day."""
        count = len(self.capacity_bytes_a_day)
        return np.bincount(owner, weights=self.bytes_a_day, minlength=count).astype(np.float64)

    def overfull(self, owner: UnitOwners) -> list[int]:
        """The crawlers over their capacity, the fullest first."""
        over = self.carried(owner) - self.capacity_bytes_a_day * (1 + ROUNDING_SHARE)
        return [int(crawler) for crawler in np.argsort(-over, kind="stable") if over[crawler] > 0]

    def learnt(self, answers_ms: Mapping[RoundTripQuery, float | None]) -> Loads:
        """The picture with these answers, and with what is believed because of them."""
        known = self.known_ms.copy()
        for question, answer_ms in answers_ms.items():
            known[question] = np.inf if answer_ms is None else answer_ms
        return replace(self, known_ms=known)

    def handed_over(self, owner: UnitOwners, measured_ms: FloatArray) -> Loads:
        """The picture after a move: everyone's first fetch at its owner has measured that round trip."""
        known = self.known_ms.copy()
        known[np.arange(len(owner)), owner] = measured_ms
        return replace(self, known_ms=known, owner=owner)


@dataclass(frozen=True)
class UnitAssignment:
    """The owners after balancing. `relieved` is False if a crawler had to stay overfull."""

    owner: UnitOwners
    relieved: bool
    probes: int = 0

    def moves(self, before: Loads) -> list[tuple[int, int, int]]:
        """Unit, from, to."""
        changed = np.flatnonzero(self.owner != before.owner)
        return [(int(g), int(before.owner[g]), int(self.owner[g])) for g in changed]

    def total_ms(self, round_trips_ms: FloatArray) -> float:
        """The papers' global cost: the sum of everyone's round trips."""
        return float(round_trips_ms[np.arange(len(self.owner)), self.owner].sum())


def result(loads: Loads, owner: UnitOwners, probes: int = 0) -> UnitAssignment:
    return UnitAssignment(owner, not loads.overfull(owner), probes)
