"""Decisions -> the owner of each delegation unit: a subnet, a single address or a site.

Invariant: one owner per unit. A lower delegation supersedes a higher one: a lookup walks from the smallest
subnet up and takes the first owner. Lists are in the order of delegation. Bounded: there are as many
subnets as the tree has; of single addresses and sites the oldest are dropped when there are too many, and
delegated again when they are submitted again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeAlias, TypeGuard, TypeVar

from ipmicra.addresses import IPAddress
from ipmicra.delegation.subnets import UNKNOWN_ORGANISATION
from ipmicra.hierarchy import Subnet
from ipmicra.model.ids import CrawlerId, SiteName

# A subnet of the tree; an address in no subnet, or of a strategy without a tree; a site, for strategies that
# go by name.
DelegationUnit: TypeAlias = Subnet | IPAddress | SiteName

LONE_MAX = 500_000  # addresses and sites that are remembered one by one; about 200 MB

UnitKey = TypeVar("UnitKey")
UnitEntry = TypeVar("UnitEntry")
HeldUnits = TypeVar("HeldUnits")


def is_subnet(unit: DelegationUnit) -> TypeGuard[Subnet]:
    """A subnet is a number; an address and a site are not."""
    return isinstance(unit, int)


class DelegationObserver(Protocol):
    """Receives every change of the delegations."""

    def on_given(self, unit: DelegationUnit, crawler: CrawlerId) -> None: ...

    def on_taken(self, unit: DelegationUnit, crawler: CrawlerId) -> None: ...


class Delegations:
    """Unit -> crawler, and the units of each crawler and each organisation."""

    def __init__(self, observer: DelegationObserver | None = None, lone_max: int = LONE_MAX) -> None:
        self._observer = observer
        self._lone_max = lone_max
        self._lone: dict[DelegationUnit, None] = {}
        self._owner: dict[DelegationUnit, CrawlerId] = {}
        self._held: dict[CrawlerId, dict[DelegationUnit, None]] = {}
        self._organisation: dict[DelegationUnit, int] = {}
        self._of_organisation: dict[int, dict[DelegationUnit, None]] = {}
        self._holders: dict[int, dict[CrawlerId, int]] = {}

    def give(
        self, unit: DelegationUnit, crawler: CrawlerId, organisation: int = UNKNOWN_ORGANISATION
    ) -> None:
        """Give the unit to the crawler, whichever crawler had it before."""
        self.take(unit)
        if not is_subnet(unit):
            while len(self._lone) >= self._lone_max:
                self.take(next(iter(self._lone)))
            self._lone[unit] = None
        self._owner[unit] = crawler
        self._held.setdefault(crawler, {})[unit] = None
        if organisation != UNKNOWN_ORGANISATION:
            self._organisation[unit] = organisation
            self._of_organisation.setdefault(organisation, {})[unit] = None
            holders = self._holders.setdefault(organisation, {})
            holders[crawler] = holders.get(crawler, 0) + 1
        if self._observer is not None:
            self._observer.on_given(unit, crawler)

    def take(self, unit: DelegationUnit) -> CrawlerId | None:
        """Take the unit from its owner. Returns the former owner."""
        owner = self._owner.pop(unit, None)
        if owner is None:
            return None
        self._lone.pop(unit, None)
        _drop(self._held, owner, unit)
        if (organisation := self._organisation.pop(unit, None)) is not None:
            _drop(self._of_organisation, organisation, unit)
            self._one_less(organisation, owner)
        if self._observer is not None:
            self._observer.on_taken(unit, owner)
        return owner

    def _one_less(self, organisation: int, holder: CrawlerId) -> None:
        holders = self._holders[organisation]
        holders[holder] -= 1
        if not holders[holder]:
            _drop(self._holders, organisation, holder)

    def owner(self, unit: DelegationUnit) -> CrawlerId | None:
        return self._owner.get(unit)

    def covering(
        self, smallest_first: Iterable[DelegationUnit]
    ) -> tuple[DelegationUnit, CrawlerId] | None:
        """The lowest delegated unit of nested ones, and its owner."""
        for unit in smallest_first:
            if (crawler := self._owner.get(unit)) is not None:
                return unit, crawler
        return None

    def held_by(self, crawler: CrawlerId) -> tuple[DelegationUnit, ...]:
        return tuple(self._held.get(crawler, ()))

    def count_held_by(self, crawler: CrawlerId) -> int:
        return len(self._held.get(crawler, ()))

    def holders_of_organisation(self, organisation: int) -> tuple[CrawlerId, ...]:
        """The crawlers that hold units of an organisation, each once, in the order of their first unit."""
        return tuple(self._holders.get(organisation, ()))

    def of_organisation(self, organisation: int) -> tuple[tuple[DelegationUnit, CrawlerId], ...]:
        """The delegated units of an organisation, with their owners."""
        units = self._of_organisation.get(organisation, ())
        return tuple((unit, self._owner[unit]) for unit in units)

    def __iter__(self) -> Iterator[tuple[DelegationUnit, CrawlerId]]:
        return iter(self._owner.items())

    def __len__(self) -> int:
        return len(self._owner)


def _drop(index: dict[UnitKey, dict[UnitEntry, HeldUnits]], key: UnitKey, entry: UnitEntry) -> None:
    """Remove an entry, and the key with its last entry."""
    del index[key][entry]
    if not index[key]:
        del index[key]
