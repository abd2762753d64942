"""Site records listed by neighbours -> replicas that survive the death of a home.

Every peer stores a replica of its neighbours' site records. When the owner of a site's key lists its sites
and the record is missing from the list, or is of an earlier epoch, the replica is sent to that peer. So a
record survives as long as one neighbour that stored it does, whichever peer takes over the dead home's zone.
"""

from __future__ import annotations

from collections.abc import Iterable

from ipmicra.model.zones import ZoneBox
from ipmicra.protocol.overlay_messages import SiteRecord


class NeighbourReplicas:
    """Replicas of the records that other peers are home to."""

    def __init__(self) -> None:
        self._records: dict[str, tuple[SiteRecord, float]] = {}

    def refresh(self, records: Iterable[SiteRecord], now_s: float) -> None:
        for record in records:
            known = self._records.get(record.site)
            if known is None or known[0].epoch <= record.epoch:
                self._records[record.site] = (record, now_s)

    def sites(self) -> list[str]:
        return list(self._records)

    def within(self, zones: Iterable[ZoneBox]) -> list[SiteRecord]:
        boxes = list(zones)
        return [
            record for record, _ in self._records.values() if any(box.holds(record.key) for box in boxes)
        ]

    def missing_from(
        self, zones: Iterable[ZoneBox], listed: Iterable[SiteRecord]
    ) -> tuple[SiteRecord, ...]:
        """Records in these zones that their owner should have and did not list."""
        epochs = {record.site: record.epoch for record in listed}
        return tuple(r for r in self.within(zones) if r.epoch > epochs.get(r.site, -1))

    def expire(self, before_s: float) -> None:
        """Drop the records that no home has repeated since."""
        self._records = {site: one for site, one in self._records.items() if one[1] >= before_s}
