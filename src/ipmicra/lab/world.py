"""Places and round trips between them -> a World, from any file or generator.

A place is somewhere a crawler can stand. A home is a range of addresses whose sites are at one place: an
anchor's single address, or one of a cloud region's prefixes. Round trips are symmetric and in ms; an
unmeasured pair is NaN. `from_directed` makes one matrix of directed measurements: the lesser of the two
directions if both were measured, else the measured one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ipmicra.addresses import AddressRange, IPAddress, address_of

Milliseconds: TypeAlias = NDArray[np.float64]

# Reserved for future use (RFC 1112): these addresses have no holder and no registry lists them.
UNREGISTERED = AddressRange.parse("240.0.0.0/4")


@dataclass(frozen=True, slots=True)
class LatencyNode:
    """Somewhere a crawler can stand. What is unknown is None or empty."""

    name: str
    address: IPAddress | None = None
    country: str = ""
    continent: str = ""
    latitude: float | None = None
    longitude: float | None = None


@dataclass(frozen=True, slots=True)
class Home:
    """Addresses whose sites all live at one place (an index into the world's places)."""

    addresses: AddressRange
    place: int


@dataclass(frozen=True)
class World:
    """An Internet as far as it was measured.

    `remarks` are what a loader had to leave out or to assume, for people to read.
    """

    name: str
    places: tuple[LatencyNode, ...]
    homes: tuple[Home, ...]
    round_trips_ms: Milliseconds
    remarks: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        shape = (len(self.places), len(self.places))
        assert self.round_trips_ms.shape == shape, f"{self.round_trips_ms.shape} is not {shape}"

    @property
    def known_share(self) -> NDArray[np.float64]:
        """For each place, the share of the other places with a known round trip to it."""
        known = np.isfinite(self.round_trips_ms)
        np.fill_diagonal(known, False)
        return np.asarray(known.sum(axis=1) / max(1, len(self.places) - 1), dtype=np.float64)


def from_directed(directed_ms: Milliseconds, own_ms: float = 0.0) -> Milliseconds:
    """One symmetric matrix; `own_ms` is the round trip from a place to itself."""
    symmetric = np.fmin(directed_ms, directed_ms.T)
    np.fill_diagonal(symmetric, own_ms)
    return np.asarray(symmetric, dtype=np.float64)


def homes_of_single_addresses(places: tuple[LatencyNode, ...]) -> tuple[Home, ...]:
    """One home for each place that has an address."""
    return tuple(
        Home(AddressRange.of_address(place.address), index)
        for index, place in enumerate(places)
        if place.address is not None
    )


def places_without_addresses(names: list[str]) -> tuple[LatencyNode, ...]:
    """Places of data without addresses: each gets one that no registry knows."""
    return tuple(
        LatencyNode(name, address_of(UNREGISTERED.family, UNREGISTERED.start + 1 + index))
        for index, name in enumerate(names)
    )
