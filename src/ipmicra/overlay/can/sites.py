"""Sites that came in -> those I am home to, and those I crawl.

The home of a site is the peer whose zone holds its key; it keeps the site's record and points to the
delegate, the peer that crawls it. Law: between two records of one site the higher epoch wins, so a
late message never brings back an old delegate, and a site has one delegate per epoch.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ipmicra.overlay.can.box import Box
from ipmicra.overlay.can.messages import Card, PeerId, SiteRecord


class SiteBook:
    """What one peer knows of sites."""

    def __init__(self) -> None:
        self.homed: dict[str, SiteRecord] = {}
        self.crawled: dict[str, SiteRecord] = {}

    @property
    def load(self) -> float:
        """Pages of the sites that I crawl."""
        return sum(record.pages for record in self.crawled.values())

    def adopt(self, record: SiteRecord) -> bool:
        """Become the home of a site, unless I know better already."""
        known = self.homed.get(record.site)
        if known is not None and known.epoch >= record.epoch:
            return False
        self.homed[record.site] = record
        return True

    def delegated(self, site: str, to: Card) -> SiteRecord:
        """The record after its delegate changed; a new epoch begins."""
        self.homed[site] = changed = with_delegate(self.homed[site], to)
        return changed

    def measured(self, site: str, by: PeerId, round_trip_ms: float) -> None:
        record = self.homed[site]
        known = dict(record.measured_ms) | {by: round_trip_ms}
        ranked = tuple(sorted(known.items(), key=lambda entry: (entry[1], entry[0])))
        self.homed[site] = msgspec.structs.replace(record, measured_ms=ranked)

    def take_up(self, record: SiteRecord) -> bool:
        """Begin to crawl a site, unless I was told of a later epoch already."""
        known = self.crawled.get(record.site)
        if known is not None and known.epoch > record.epoch:
            return False
        self.crawled[record.site] = record
        return True

    def lay_down(self, site: str, epoch: int) -> bool:
        """Stop crawling a site, if what I have is older than `epoch`."""
        known = self.crawled.get(site)
        if known is None or known.epoch >= epoch:
            return False
        del self.crawled[site]
        return True

    def given_away(self, zones: Iterable[Box]) -> tuple[SiteRecord, ...]:
        """The records whose keys lie in `zones`; I am their home no longer."""
        boxes = list(zones)
        moving = [r for r in self.homed.values() if any(box.holds(r.key) for box in boxes)]
        for record in moving:
            del self.homed[record.site]
        return tuple(moving)


def with_delegate(record: SiteRecord, to: Card) -> SiteRecord:
    """The record in the epoch that begins with this delegate."""
    return msgspec.structs.replace(
        record, delegate=to.peer, delegate_address=to.address, epoch=record.epoch + 1
    )


def delegate_card(record: SiteRecord) -> Card:
    """Enough of a card to write to the delegate."""
    return Card(record.delegate, record.point, (), address=record.delegate_address)
