"""Sites that came in -> those I am home to, and those I crawl.

The home of a site is the peer whose zone holds its key; it keeps the site's record and points to the
delegate, the peer that crawls it. Law: between two records of one site the higher epoch wins, so a
late message never brings back an old delegate, and a site has one delegate per epoch.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ipmicra.model.zones import ZoneBox
from ipmicra.protocol.overlay_messages import PeerDescriptor, PeerId, PeerMeasurement, SiteRecord


class SiteTable:
    """What one peer knows of sites."""

    def __init__(self) -> None:
        self.homed: dict[str, SiteRecord] = {}
        self.crawled: dict[str, SiteRecord] = {}
        self.on_their_way: dict[str, SiteRecord] = {}  # taken in for a home that has not answered yet
        self.changes = 0  # rises whenever what I am home to changes
        self._delegate_heard_s: dict[str, float] = {}
        self._confirmed_s: dict[str, float] = {}
        self._laid_down: dict[str, int] = {}  # the epochs up to which sites are mine no longer

    @property
    def load(self) -> float:
        """Pages of the sites that I crawl."""
        return sum(record.pages for record in self.crawled.values())

    def adopt(self, record: SiteRecord, now_s: float) -> bool:
        """Become the home of a site, unless I know better already. Its delegate's lease begins."""
        known = self.homed.get(record.site)
        if known is not None and known.epoch >= record.epoch:
            return False
        self._keep(record)
        self._delegate_heard_s[record.site] = now_s
        return True

    def delegated(self, site: str, to: PeerDescriptor, now_s: float) -> SiteRecord:
        """The record after its delegate changed; a new epoch and a new lease begin."""
        self._delegate_heard_s[site] = now_s
        return self._keep(with_delegate(self.homed[site], to))

    def at_epoch(self, site: str, epoch: int) -> SiteRecord:
        """The same delegate in a later epoch."""
        return self._keep(msgspec.structs.replace(self.homed[site], epoch=epoch))

    def measured(self, site: str, measurement: PeerMeasurement) -> SiteRecord:
        """One more round trip is known."""
        record = self.homed[site]
        others = [known for known in record.measured if known.peer != measurement.peer]
        ranked = sorted([*others, measurement], key=lambda known: (known.round_trip_ms, known.peer))
        return self._keep(msgspec.structs.replace(record, measured=tuple(ranked)))

    def struck(self, site: str, peer: PeerId) -> SiteRecord:
        """A peer that has fallen silent is no candidate any more, however near it was."""
        record = self.homed[site]
        left = tuple(known for known in record.measured if known.peer != peer)
        return self._keep(msgspec.structs.replace(record, measured=left))

    def heard_from_delegate(self, site: str, delegate: PeerDescriptor, now_s: float) -> SiteRecord:
        """Its lease begins anew; it may be reached elsewhere by now."""
        self._delegate_heard_s[site] = now_s
        record = self.homed[site]
        if record.delegate_address == delegate.address:
            return record
        return self._keep(msgspec.structs.replace(record, delegate_address=delegate.address))

    def lease_over(self, site: str, before_s: float) -> bool:
        """Whether the delegate was not heard of since."""
        return self._delegate_heard_s.get(site, before_s) < before_s

    def _keep(self, record: SiteRecord) -> SiteRecord:
        self.homed[record.site] = record
        self.changes += 1
        return record

    def take_up(self, record: SiteRecord, now_s: float) -> bool:
        """Begin to crawl a site, or go on, unless I was told of a later epoch already."""
        known = self.crawled.get(record.site)
        if known is not None and known.epoch > record.epoch:
            return False
        if record.epoch < self._laid_down.get(record.site, record.epoch):
            return False
        self.crawled[record.site] = record
        self._confirmed_s[record.site] = now_s
        return True

    def confirmed(self, site: str, epoch: int, now_s: float) -> None:
        """The home says that the site is still mine."""
        known = self.crawled.get(site)
        if known is not None and known.epoch == epoch:
            self._confirmed_s[site] = now_s

    def leased(self, since_s: float) -> dict[str, SiteRecord]:
        """What I may crawl: my own sites, and those that their home has confirmed since."""
        return {
            site: record
            for site, record in self.crawled.items()
            if site in self.homed or self._confirmed_s.get(site, since_s) >= since_s
        }

    def lay_down(self, site: str, epoch: int) -> bool:
        """Stop crawling a site, if what I have is older than `epoch`."""
        self._laid_down[site] = max(epoch, self._laid_down.get(site, epoch))
        known = self.crawled.get(site)
        if known is None or known.epoch >= epoch:
            return False
        del self.crawled[site]
        return True

    def stop(self, record: SiteRecord) -> None:
        """As its home I say that somebody else crawls the site, whoever may have told me to."""
        self.crawled.pop(record.site, None)
        self.lay_down(record.site, record.epoch)

    def drop(self, site: str) -> None:
        """I am the site's home no longer, and crawl it no longer, since another home has it."""
        record = self.homed.pop(site)
        self._delegate_heard_s.pop(site, None)
        self.changes += 1
        self.stop(record)

    def given_away(self, zones: Iterable[ZoneBox]) -> tuple[SiteRecord, ...]:
        """The records whose keys lie in `zones`; I am their home no longer."""
        boxes = list(zones)
        moving = [r for r in self.homed.values() if any(box.holds(r.key) for box in boxes)]
        for record in moving:
            del self.homed[record.site]
            self._delegate_heard_s.pop(record.site, None)
        self.changes += bool(moving)
        return tuple(moving)


def with_delegate(record: SiteRecord, to: PeerDescriptor) -> SiteRecord:
    """The record in the epoch that begins with this delegate."""
    return msgspec.structs.replace(
        record, delegate=to.peer, delegate_address=to.address, epoch=record.epoch + 1
    )


def delegate_card(record: SiteRecord) -> PeerDescriptor:
    """Enough of a card to write to the delegate."""
    return PeerDescriptor(record.delegate, record.point, (), address=record.delegate_address)
