"""Decisions -> who holds what: subnet, lone address or site -> crawler.

Law: one owner per ground. A lower delegation supersedes a higher one: whoever asks about an address
walks from the smallest subnet up and takes the first owner. Whatever is listed is listed in the order
it was given. Bounded: subnets are as many as the tree has; of lone addresses and sites the longest given
are forgotten when there are too many, and delegated again when they turn up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeAlias, TypeGuard, TypeVar

from ipmicra.addresses import IPAddress
from ipmicra.delegation.subnets import UNKNOWN_ORGANISATION
from ipmicra.hierarchy import Subnet
from ipmicra.model.ids import CrawlerId, SiteName

# What can be held: a subnet of the tree; an address that lies in no subnet, or that a strategy without
# a tree remembers; a site, for strategies that go by name.
DelegationUnit: TypeAlias = Subnet | IPAddress | SiteName

LONE_MAX = 500_000  # addresses and sites that are remembered one by one; some 200 MB

UnitKey = TypeVar("UnitKey")
UnitEntry = TypeVar("UnitEntry")
HeldUnits = TypeVar("HeldUnits")


def is_subnet(ground: DelegationUnit) -> TypeGuard[Subnet]:
    """A subnet is a number; an address and a site are not."""
    return isinstance(ground, int)


class DelegationObserver(Protocol):
    """Somebody who keeps an order of their own over what is delegated."""

    def given(self, ground: DelegationUnit, crawler: CrawlerId) -> None: ...

    def taken(self, ground: DelegationUnit, crawler: CrawlerId) -> None: ...


class Delegations:
    """Ground -> crawler, with the way back and the organisations' holdings."""

    def __init__(self, watcher: DelegationObserver | None = None, lone_max: int = LONE_MAX) -> None:
        self._watcher = watcher
        self._lone_max = lone_max
        self._lone: dict[DelegationUnit, None] = {}
        self._owner: dict[DelegationUnit, CrawlerId] = {}
        self._held: dict[CrawlerId, dict[DelegationUnit, None]] = {}
        self._organisation: dict[DelegationUnit, int] = {}
        self._of_organisation: dict[int, dict[DelegationUnit, None]] = {}
        self._holders: dict[int, dict[CrawlerId, int]] = {}

    def give(
        self, ground: DelegationUnit, crawler: CrawlerId, organisation: int = UNKNOWN_ORGANISATION
    ) -> None:
        """The ground is the crawler's from now on, whoever had it before."""
        self.take(ground)
        if not is_subnet(ground):
            while len(self._lone) >= self._lone_max:
                self.take(next(iter(self._lone)))
            self._lone[ground] = None
        self._owner[ground] = crawler
        self._held.setdefault(crawler, {})[ground] = None
        if organisation != UNKNOWN_ORGANISATION:
            self._organisation[ground] = organisation
            self._of_organisation.setdefault(organisation, {})[ground] = None
            holders = self._holders.setdefault(organisation, {})
            holders[crawler] = holders.get(crawler, 0) + 1
        if self._watcher is not None:
            self._watcher.given(ground, crawler)

    def take(self, ground: DelegationUnit) -> CrawlerId | None:
        """The ground is nobody's from now on. Returns who had it."""
        owner = self._owner.pop(ground, None)
        if owner is None:
            return None
        self._lone.pop(ground, None)
        _drop(self._held, owner, ground)
        if (organisation := self._organisation.pop(ground, None)) is not None:
            _drop(self._of_organisation, organisation, ground)
            self._one_less(organisation, owner)
        if self._watcher is not None:
            self._watcher.taken(ground, owner)
        return owner

    def _one_less(self, organisation: int, holder: CrawlerId) -> None:
        holders = self._holders[organisation]
        holders[holder] -= 1
        if not holders[holder]:
            _drop(self._holders, organisation, holder)

    def owner(self, ground: DelegationUnit) -> CrawlerId | None:
        return self._owner.get(ground)

    def covering(
        self, smallest_first: Iterable[DelegationUnit]
    ) -> tuple[DelegationUnit, CrawlerId] | None:
        """Of nested grounds the lowest that is delegated, and to whom."""
        for ground in smallest_first:
            if (crawler := self._owner.get(ground)) is not None:
                return ground, crawler
        return None

    def held_by(self, crawler: CrawlerId) -> tuple[DelegationUnit, ...]:
        return tuple(self._held.get(crawler, ()))

    def count_held_by(self, crawler: CrawlerId) -> int:
        return len(self._held.get(crawler, ()))

    def holders_of_organisation(self, organisation: int) -> tuple[CrawlerId, ...]:
        """Who holds something of an organisation's, each once, in the order they came to it."""
        return tuple(self._holders.get(organisation, ()))

    def of_organisation(self, organisation: int) -> tuple[tuple[DelegationUnit, CrawlerId], ...]:
        """What is delegated of an organisation's, and to whom."""
        grounds = self._of_organisation.get(organisation, ())
        return tuple((ground, self._owner[ground]) for ground in grounds)

    def __iter__(self) -> Iterator[tuple[DelegationUnit, CrawlerId]]:
        return iter(self._owner.items())

    def __len__(self) -> int:
        return len(self._owner)


def _drop(index: dict[UnitKey, dict[UnitEntry, HeldUnits]], key: UnitKey, entry: UnitEntry) -> None:
    """Leave no empty entry behind: an organisation without holdings is forgotten."""
    del index[key][entry]
    if not index[key]:
        del index[key]
