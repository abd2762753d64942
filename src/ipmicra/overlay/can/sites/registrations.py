"""Names registered here, and those that neighbours list -> the record that a name was registered with first.

A registrar lists its names to its neighbours, as homes list their sites. So the neighbour that takes over a
dead registrar's zone knows its names, and nobody registers one a second time at another place.

Invariant: a name that its home did not repeat in time is neither listed nor remembered.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ipmicra.protocol.overlay_messages import SiteRecord


class Registrations:
    """The names of one registrar, and replicas of its neighbours' names."""

    def __init__(self) -> None:
        self._mine: dict[str, tuple[SiteRecord, float]] = {}
        self._replicas: dict[str, tuple[SiteRecord, float]] = {}
        self.changes = 0  # rises with every name that is new here or moves

    def first_of(self, site: str) -> SiteRecord | None:
        known = self._mine.get(site) or self._replicas.get(site)
        return None if known is None else known[0]

    def store(self, record: SiteRecord, now_s: float) -> None:
        """The home of a site repeats its name, or a name is new."""
        known = self._mine.get(record.site)
        self.changes += known is None or known[0].key != record.key
        self._mine[record.site] = (msgspec.structs.replace(record, measured=()), now_s)

    def listed(self) -> tuple[SiteRecord, ...]:
        """What neighbours are to remember for us."""
        return tuple(record for record, _ in self._mine.values())

    def refresh(self, records: Iterable[SiteRecord], now_s: float) -> None:
        """The names that a registrar lists."""
        self._replicas |= {record.site: (record, now_s) for record in records}

    def expire(self, before_s: float) -> None:
        """Drop the names that were not repeated since."""
        self._mine = {site: one for site, one in self._mine.items() if one[1] >= before_s}
        self._replicas = {site: one for site, one in self._replicas.items() if one[1] >= before_s}
