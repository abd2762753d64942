"""Site records -> the sites this peer is home to, and the sites it crawls.

The home of a site is the peer whose zone holds its key; it stores the site's record and assigns the
delegate, the peer that crawls it. Invariant: of two records of one site the higher epoch wins, so a late
message never restores an old delegate, and a site has one delegate per epoch.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ipmicra.model.ids import DelegateEpoch
from ipmicra.model.zones import ZoneBox
from ipmicra.protocol.overlay_messages import PeerDescriptor, PeerId, PeerMeasurement, SiteRecord


class SiteTable:
    """What one peer knows about sites."""

    def __init__(self) -> None:
        self.home_records: dict[str, SiteRecord] = {}
        self.crawled: dict[str, SiteRecord] = {}
        self.unacknowledged: dict[str, SiteRecord] = {}  # submitted to a home that has not answered yet
        self.changes = 0  # rises with every change of `home_records`
        self._delegate_seen_s: dict[str, float] = {}
        self._confirmed_s: dict[str, float] = {}
        self._released_epochs: dict[str, int] = {}  # sites may not be crawled below these epochs

    @property
    def load(self) -> float:
        """Pages of the sites that this peer crawls."""
        return sum(record.pages for record in self.crawled.values())

    def adopt(self, record: SiteRecord, now_s: float) -> bool:
        """Become the home of a site, unless a later epoch is known. Its delegate's lease begins."""
        known = self.home_records.get(record.site)
        if known is not None and known.epoch >= record.epoch:
            return False
        self._store(record)
        self._delegate_seen_s[record.site] = now_s
        return True

    def set_delegate(self, site: str, to: PeerDescriptor, now_s: float) -> SiteRecord:
        """Change the delegate; a new epoch and a new lease begin."""
        self._delegate_seen_s[site] = now_s
        return self._store(with_delegate(self.home_records[site], to))

    def set_epoch(self, site: str, epoch: DelegateEpoch) -> SiteRecord:
        """Keep the delegate in a later epoch."""
        return self._store(msgspec.structs.replace(self.home_records[site], epoch=epoch))

    def add_measurement(self, site: str, measurement: PeerMeasurement) -> SiteRecord:
        """Store a peer's round trip to the site."""
        record = self.home_records[site]
        others = [known for known in record.measured if known.peer != measurement.peer]
        ranked = sorted([*others, measurement], key=lambda known: (known.round_trip_ms, known.peer))
        return self._store(msgspec.structs.replace(record, measured=tuple(ranked)))

    def drop_candidate(self, site: str, peer: PeerId) -> SiteRecord:
        """Remove a dead or unreachable peer's measurement, however near the peer was."""
        record = self.home_records[site]
        left = tuple(known for known in record.measured if known.peer != peer)
        return self._store(msgspec.structs.replace(record, measured=left))

    def on_delegate_alive(self, site: str, delegate: PeerDescriptor, now_s: float) -> SiteRecord:
        """Renew the delegate's lease, and store its address."""
        self._delegate_seen_s[site] = now_s
        record = self.home_records[site]
        if record.delegate_address == delegate.address:
            return record
        return self._store(msgspec.structs.replace(record, delegate_address=delegate.address))

    def is_lease_over(self, site: str, before_s: float) -> bool:
        """Whether the delegate's last sign of life is older than `before_s`."""
        return self._delegate_seen_s.get(site, before_s) < before_s

    def _store(self, record: SiteRecord) -> SiteRecord:
        self.home_records[record.site] = record
        self.changes += 1
        return record

    def start_crawling(self, record: SiteRecord, now_s: float) -> bool:
        """Begin or continue to crawl a site, unless a later epoch is known."""
        known = self.crawled.get(record.site)
        if known is not None and known.epoch > record.epoch:
            return False
        if record.epoch < self._released_epochs.get(record.site, record.epoch):
            return False
        self.crawled[record.site] = record
        self._confirmed_s[record.site] = now_s
        return True

    def start_as_home(self, record: SiteRecord, now_s: float) -> SiteRecord:
        """As the home, crawl a site ourselves, in an epoch that no earlier release forbids.

        The record may be older than a release that we obeyed: a replica of a home that died before it
        listed its last change.
        """
        least = max(record.epoch, self._released_epochs.get(record.site, 0))
        allowed = self.set_epoch(record.site, DelegateEpoch(least)) if least > record.epoch else record
        self.start_crawling(allowed, now_s)
        return allowed

    def on_confirmed(self, site: str, epoch: DelegateEpoch, now_s: float) -> None:
        """The home confirms that the site is still ours to crawl."""
        known = self.crawled.get(site)
        if known is not None and known.epoch == epoch:
            self._confirmed_s[site] = now_s

    def leased_records(self, since_s: float) -> dict[str, SiteRecord]:
        """The sites that may be crawled: those we are home to, and those confirmed by their home since."""
        return {
            site: record
            for site, record in self.crawled.items()
            if site in self.home_records or self._confirmed_s.get(site, since_s) >= since_s
        }

    def stop_crawling(self, site: str, epoch: DelegateEpoch) -> bool:
        """Stop crawling a site, if our record is older than `epoch`."""
        self._released_epochs[site] = max(epoch, self._released_epochs.get(site, epoch))
        known = self.crawled.get(site)
        if known is None or known.epoch >= epoch:
            return False
        del self.crawled[site]
        return True

    def stop_as_home(self, record: SiteRecord) -> None:
        """As the home, stop crawling a site that is now another peer's, whatever we were told before."""
        self.crawled.pop(record.site, None)
        self.stop_crawling(record.site, record.epoch)

    def drop_home(self, site: str) -> None:
        """Another home has the site: we are no longer its home and stop crawling it."""
        record = self.home_records.pop(site)
        self._delegate_seen_s.pop(site, None)
        self.changes += 1
        self.stop_as_home(record)

    def give_away(self, zones: Iterable[ZoneBox]) -> tuple[SiteRecord, ...]:
        """Remove and return the records whose keys lie in `zones`; we are no longer their home."""
        boxes = list(zones)
        moving = [r for r in self.home_records.values() if any(box.holds(r.key) for box in boxes)]
        for record in moving:
            del self.home_records[record.site]
            self._delegate_seen_s.pop(record.site, None)
        self.changes += bool(moving)
        return tuple(moving)


def with_delegate(record: SiteRecord, to: PeerDescriptor) -> SiteRecord:
    """The record in the epoch that begins with this delegate."""
    return msgspec.structs.replace(
        record, delegate=to.peer, delegate_address=to.address, epoch=DelegateEpoch(record.epoch + 1)
    )


def delegate_descriptor(record: SiteRecord) -> PeerDescriptor:
    """A descriptor that is sufficient to send a message to the delegate."""
    return PeerDescriptor(record.delegate, record.point, (), address=record.delegate_address)
