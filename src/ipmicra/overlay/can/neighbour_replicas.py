"""Records that homes told their neighbours -> what is still known when a home dies.

Every peer keeps a copy of its neighbours' site records. When a peer that owns a site's key lists its
sites and the copy is missing from the list, or is of a later epoch, the copy goes to that peer. So a
record lives on as long as one neighbour that heard of it does, whoever takes the dead home's zone.
"""

from __future__ import annotations

from collections.abc import Iterable

from ipmicra.model.zones import ZoneBox
from ipmicra.protocol.overlay_messages import SiteRecord


class NeighbourReplicas:
    """Copies of the records that other peers are home to."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[SiteRecord, float]] = {}

    def refresh(self, records: Iterable[SiteRecord], now_s: float) -> None:
        for record in records:
            known = self._kept.get(record.site)
            if known is None or known[0].epoch <= record.epoch:
                self._kept[record.site] = (record, now_s)

    def sites(self) -> list[str]:
        return list(self._kept)

    def within(self, zones: Iterable[ZoneBox]) -> list[SiteRecord]:
        boxes = list(zones)
        return [
            record for record, _ in self._kept.values() if any(box.holds(record.key) for box in boxes)
        ]

    def unknown_to(
        self, zones: Iterable[ZoneBox], listed: Iterable[SiteRecord]
    ) -> tuple[SiteRecord, ...]:
        """What the owner of the zones did not list though it is home to it."""
        epochs = {record.site: record.epoch for record in listed}
        return tuple(r for r in self.within(zones) if r.epoch > epochs.get(r.site, -1))

    def expire(self, before_s: float) -> None:
        """Forget what nobody has repeated since."""
        self._kept = {site: kept for site, kept in self._kept.items() if kept[1] >= before_s}
