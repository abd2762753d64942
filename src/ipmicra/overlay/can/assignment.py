"""Sites that I am home to -> who crawls each of them, for as long as that peer lives.

The home points each site to its delegate (`Crawl`), takes it back (`Release`), and reviews its choice
with every greeting. A delegate announces itself to the home; one that did not for `lease_s` has lost
the site. Two delegates of one epoch, left by two homes that did not know of each other, are settled by
a new epoch.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec

from ipmicra.overlay.can.candidates import Candidates
from ipmicra.overlay.can.nearness import HandOverRule
from ipmicra.overlay.can.peer_state import PeerState
from ipmicra.overlay.can.routing import Routing
from ipmicra.overlay.can.site_table import delegate_card
from ipmicra.protocol.overlay_messages import (
    Announce,
    Confirm,
    CrawlSite,
    HandBack,
    Measure,
    Outgoing,
    PeerDescriptor,
    PeerId,
    PeerMeasurement,
    ReleaseSite,
    Routed,
    SiteMeasured,
    SiteRecord,
    Submit,
    SubmitAck,
)


class SiteAssignments:
    """Conducts the sites of one home."""

    def __init__(self, known: PeerState, routing: Routing) -> None:
        self._known = known
        self._routing = routing
        self._candidates = Candidates(known)
        self.probes_wanted: list[Measure] = []

    # --- coming home --------------------------------------------------------------------------

    def homed(
        self, records: Iterable[SiteRecord], now_s: float, departed: PeerId | None = None
    ) -> list[Outgoing]:
        """Become home to sites; those without a living delegate get one. Strays are sent on home."""
        known, out = self._known, []
        for record in records:
            if not known.owns(record.key):
                out += self.taken_in(record)
            elif known.book.adopt(record, now_s):
                out += self._begun(record, now_s, departed)
        return out

    def _begun(self, record: SiteRecord, now_s: float, departed: PeerId | None) -> list[Outgoing]:
        """A delegate that is somebody else is told who the home is now; so one that is dead shows."""
        if record.delegate == self._known.id:
            self._known.book.take_up(record, now_s)
            return []
        self._known.book.stop(record)
        alone = self._known.rules.hand_over is None
        if alone or not record.delegate or record.delegate == departed:
            return self._assigned(record.site, now_s, without=departed)
        return [Outgoing(delegate_card(record), CrawlSite(record, self._known.card))]

    # --- taking in for others -----------------------------------------------------------------

    def taken_in(self, record: SiteRecord) -> list[Outgoing]:
        """Send a site home; again and again, until its home answers."""
        self._known.book.on_their_way[record.site] = record
        return self._sent_home(record)

    def sent_again(self) -> list[Outgoing]:
        waiting = list(self._known.book.on_their_way.values())
        return [letter for record in waiting for letter in self._sent_home(record)]

    def _sent_home(self, record: SiteRecord) -> list[Outgoing]:
        letter = Submit(record, self._known.card)
        return [Outgoing(self._known.card, Routed(record.key, letter))]

    def submitted(self, submit: Submit, now_s: float) -> list[Outgoing]:
        """A site has come home."""
        out = self.homed([submit.record], now_s)
        taken_in_by = submit.taken_in_by or self._known.card
        return [*out, Outgoing(taken_in_by, SubmitAck(submit.record.site))]

    # --- choosing -----------------------------------------------------------------------------

    def reviewed(self, now_s: float) -> list[Outgoing]:
        """Each of my sites once: does its delegate live, is somebody cheaper, or worth asking?"""
        rule, book, out = self._known.rules.hand_over, self._known.book, []
        if rule is None:
            return []
        for site in sorted(book.homed):
            out += self._assigned(site, now_s, without=self._silent_delegate(site, now_s))
            out += self._asked(site, rule)
        return out

    def _silent_delegate(self, site: str, now_s: float) -> PeerId | None:
        """The delegate whose lease is over; it is no candidate any more."""
        book, delegate = self._known.book, self._known.book.homed[site].delegate
        if delegate == self._known.id or not book.lease_over(site, now_s - self._known.rules.lease_s):
            return None
        book.struck(site, delegate)
        self._candidates.lost(delegate)
        self._candidates.unreachable(delegate, now_s + self._known.rules.lease_s)
        return delegate

    def _assigned(self, site: str, now_s: float, without: PeerId | None = None) -> list[Outgoing]:
        """Point a site to the peer that should crawl it now, and tell those concerned."""
        known, record = self._known, self._known.book.homed[site]
        rule = known.rules.hand_over
        best = (
            known.card if rule is None else self._candidates.delegate_for(record, rule, without, now_s)
        )
        if best.peer == record.delegate:
            return []
        return self._moved(record, best, now_s)

    def _moved(self, record: SiteRecord, heir: PeerDescriptor, now_s: float) -> list[Outgoing]:
        known, site = self._known, record.site
        former = delegate_card(record) if record.delegate else None
        changed = known.book.delegated(site, heir, now_s)
        out: list[Outgoing] = []
        if heir.peer == known.id:
            known.book.take_up(changed, now_s)
        else:
            known.book.stop(changed)
            out.append(Outgoing(heir, CrawlSite(changed, known.card)))
        if former is not None and former.peer != known.id:
            out.append(Outgoing(former, ReleaseSite(site, changed.epoch, heir)))
        self._reckon(heir, former, changed.pages)
        return out

    def _reckon(self, heir: PeerDescriptor, former: PeerDescriptor | None, pages: float) -> None:
        """Count a move at once in what I believe of others' loads, before they say so themselves."""
        for card, change in ((heir, pages), (former, -pages)):
            neighbour = self._known.table.get(card.peer) if card is not None else None
            if neighbour is not None:
                load = neighbour.card.load + change
                neighbour.card = msgspec.structs.replace(neighbour.card, load=load)

    # --- measuring ----------------------------------------------------------------------------

    def _asked(self, site: str, rule: HandOverRule) -> list[Outgoing]:
        chosen = self._candidates.to_measure(self._known.book.homed[site], rule)
        if chosen is None:
            return []
        wanted = Measure(site, self._known.card)
        if chosen.peer == self._known.id:
            self.probes_wanted.append(wanted)
            return []
        return [Outgoing(chosen, wanted)]

    def was_measured(self, measured: SiteMeasured, now_s: float) -> list[Outgoing]:
        """A peer's answer: the site may move, and the next peer is asked."""
        rule = self._known.rules.hand_over
        if measured.site not in self._known.book.homed or rule is None:
            return []
        self._candidates.met(measured)
        by, took_ms = measured.by, measured.round_trip_ms
        answer = PeerMeasurement(by.peer, math.inf if took_ms is None else took_ms, by.point, by.address)
        self._known.book.measured(measured.site, answer)
        return self._assigned(measured.site, now_s) + self._asked(measured.site, rule)

    # --- delegates ----------------------------------------------------------------------------

    def announced(self, announce: Announce, now_s: float) -> list[Outgoing]:
        """Somebody crawls a site that I am home to: as I say, or in error, or I had lost it."""
        book, crawler = self._known.book, announce.crawler
        self._candidates.seen(crawler)
        record = book.homed.get(announce.record.site)
        if record is None:
            return self.homed([announce.record], now_s)
        if record.delegate == crawler.peer:
            record = book.heard_from_delegate(record.site, crawler, now_s)
            if announce.record.epoch < record.epoch:
                return [Outgoing(crawler, CrawlSite(record, self._known.card))]
            return [Outgoing(crawler, Confirm(record.site, record.epoch))]
        if announce.record.epoch >= record.epoch:
            record = book.at_epoch(record.site, announce.record.epoch + 1)
        return [Outgoing(crawler, ReleaseSite(record.site, record.epoch, delegate_card(record)))]

    def resigned(self, resign: HandBack, now_s: float) -> list[Outgoing]:
        record = self._known.book.homed.get(resign.site)
        if record is None or record.delegate != resign.crawler:
            return []
        return self._assigned(resign.site, now_s, without=resign.crawler)

    def refused(self, site: str, peer: PeerId, now_s: float) -> list[Outgoing]:
        """The delegate could not be told: it cannot be reached, so somebody else is chosen at once."""
        record = self._known.book.homed.get(site)
        self._candidates.unreachable(peer, now_s + self._known.rules.lease_s)
        if record is None or record.delegate != peer:
            return []
        self._known.book.struck(site, peer)
        return self._assigned(site, now_s, without=peer)

    def announcements(self) -> list[Outgoing]:
        """A word to the home of each site that I crawl and am not home to."""
        known, out = self._known, []
        for site, record in sorted(known.book.crawled.items()):
            if site not in known.book.homed:
                out += self._routing.passed_on(Routed(record.key, Announce(record, known.card)))
        return out

    def resignations(self) -> list[Outgoing]:
        """The same word when I am about to leave."""
        known, out = self._known, []
        for site, record in sorted(known.book.crawled.items()):
            if site not in known.book.homed:
                out += self._routing.passed_on(Routed(record.key, HandBack(site, known.id)))
        return out
