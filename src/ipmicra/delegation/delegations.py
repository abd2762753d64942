"""Decisions -> who holds what: subnet, lone address or site -> crawler.

Law: one owner per ground. A lower delegation supersedes a higher one: whoever asks about an address
walks from the smallest subnet up and takes the first owner. Whatever is listed is listed in the order
it was given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias, TypeVar

from ipmicra.addresses import IPAddress
from ipmicra.delegation.probes import CrawlerId, Site
from ipmicra.delegation.subnets import SubnetId

# What can be held: a subnet of the tree; an address that lies in no subnet, or that a strategy without
# a tree remembers; a site, for strategies that go by name.
Ground: TypeAlias = SubnetId | IPAddress | Site

Key = TypeVar("Key", bound=str)


class Delegations:
    """Ground -> crawler, with the way back and the organisations' holdings."""

    def __init__(self) -> None:
        self._owner: dict[Ground, CrawlerId] = {}
        self._held: dict[CrawlerId, dict[Ground, None]] = {}
        self._organisation: dict[Ground, str] = {}
        self._of_organisation: dict[str, dict[Ground, None]] = {}

    def give(self, ground: Ground, crawler: CrawlerId, organisation: str | None = None) -> None:
        """The ground is the crawler's from now on, whoever had it before."""
        self.take(ground)
        self._owner[ground] = crawler
        self._held.setdefault(crawler, {})[ground] = None
        if organisation is not None:
            self._organisation[ground] = organisation
            self._of_organisation.setdefault(organisation, {})[ground] = None

    def take(self, ground: Ground) -> CrawlerId | None:
        """The ground is nobody's from now on. Returns who had it."""
        owner = self._owner.pop(ground, None)
        if owner is None:
            return None
        _drop(self._held, owner, ground)
        if (organisation := self._organisation.pop(ground, None)) is not None:
            _drop(self._of_organisation, organisation, ground)
        return owner

    def owner(self, ground: Ground) -> CrawlerId | None:
        return self._owner.get(ground)

    def covering(self, smallest_first: Iterable[Ground]) -> tuple[Ground, CrawlerId] | None:
        """Of nested grounds the lowest that is delegated, and to whom."""
        for ground in smallest_first:
            if (crawler := self._owner.get(ground)) is not None:
                return ground, crawler
        return None

    def held_by(self, crawler: CrawlerId) -> tuple[Ground, ...]:
        return tuple(self._held.get(crawler, ()))

    def of_organisation(self, organisation: str) -> tuple[tuple[Ground, CrawlerId], ...]:
        """What is delegated of an organisation's, and to whom."""
        grounds = self._of_organisation.get(organisation, ())
        return tuple((ground, self._owner[ground]) for ground in grounds)

    def __iter__(self) -> Iterator[tuple[Ground, CrawlerId]]:
        return iter(self._owner.items())

    def __len__(self) -> int:
        return len(self._owner)


def _drop(index: dict[Key, dict[Ground, None]], key: Key, ground: Ground) -> None:
    del index[key][ground]
    if not index[key]:
        del index[key]
