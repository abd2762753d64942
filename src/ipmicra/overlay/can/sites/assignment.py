"""Sites whose keys lie in our zones -> the peer that crawls each of them, its delegate.

The home of a site is the peer whose zone holds the site's key. The home assigns the delegate (`CrawlSite`),
withdraws the site (`ReleaseSite`), and reviews its choice at every gossip round. A delegate announces
itself to the home; one that was not heard for `lease_s` loses the site. Two delegates of the same epoch
(left behind by two homes that did not know of each other) are resolved by a new epoch.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec

from ipmicra.model.ids import DelegateEpoch
from ipmicra.overlay.can.peer_state import PeerState
from ipmicra.overlay.can.routing import Routing
from ipmicra.overlay.can.sites.candidates import Candidates
from ipmicra.overlay.can.sites.nearness import HandOverRule
from ipmicra.overlay.can.sites.site_table import delegate_descriptor
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
    """Assigns the sites of one home."""

    def __init__(self, state: PeerState, routing: Routing) -> None:
        self._state = state
        self._routing = routing
        self._candidates = Candidates(state)
        self.wanted_probes: list[Measure] = []

    # --- adopting sites -----------------------------------------------------------------------

    def adopt_sites(
        self, records: Iterable[SiteRecord], now_s: float, departed: PeerId | None = None
    ) -> list[Outgoing]:
        """Become the home of sites and assign those without a live delegate. Others are forwarded home."""
        state, out = self._state, []
        for record in records:
            if not state.owns(record.key):
                out += self.submit_home(record)
            elif state.site_table.adopt(record, now_s):
                out += self._start_adopted(record, now_s, departed)
        return out

    def _start_adopted(
        self, record: SiteRecord, now_s: float, departed: PeerId | None
    ) -> list[Outgoing]:
        """Send another delegate the new home's descriptor; a dead delegate is found out by that."""
        if record.delegate == self._state.id:
            self._state.site_table.start_as_home(record, now_s)
            return []
        self._state.site_table.stop_as_home(record)
        alone = self._state.rules.hand_over is None
        if alone or not record.delegate or record.delegate == departed:
            return self._assign(record.site, now_s, without=departed)
        return [Outgoing(delegate_descriptor(record), CrawlSite(record, self._state.descriptor))]

    # --- submitting for others ----------------------------------------------------------------

    def submit_home(self, record: SiteRecord) -> list[Outgoing]:
        """Send a site to its home; repeated until the home acknowledges it."""
        self._state.site_table.unacknowledged[record.site] = record
        return self._submission(record)

    def pending_submissions(self) -> list[Outgoing]:
        """Submissions that no home has acknowledged yet, to be sent again."""
        waiting = list(self._state.site_table.unacknowledged.values())
        return [outgoing for record in waiting for outgoing in self._submission(record)]

    def _submission(self, record: SiteRecord) -> list[Outgoing]:
        payload = Submit(record, self._state.descriptor)
        return [Outgoing(self._state.descriptor, Routed(record.key, payload))]

    def on_submit(self, submit: Submit, now_s: float) -> list[Outgoing]:
        """A site has reached its home."""
        out = self.adopt_sites([submit.record], now_s)
        submitted_by = submit.taken_in_by or self._state.descriptor
        return [*out, Outgoing(submitted_by, SubmitAck(submit.record.site))]

    # --- choosing delegates -------------------------------------------------------------------

    def review(self, now_s: float) -> list[Outgoing]:
        """Check each of our sites: is its delegate alive, is another peer cheaper or worth measuring?"""
        rule, site_table, out = self._state.rules.hand_over, self._state.site_table, []
        if rule is None:
            return []
        for site in sorted(site_table.home_records):
            out += self._assign(site, now_s, without=self._expire_delegate(site, now_s))
            out += self._request_measurement(site, rule)
        return out

    def _expire_delegate(self, site: str, now_s: float) -> PeerId | None:
        """The delegate whose lease has expired, dropped from the candidates; None while it is valid."""
        site_table, delegate = self._state.site_table, self._state.site_table.home_records[site].delegate
        if delegate == self._state.id or not site_table.is_lease_over(
            site, now_s - self._state.rules.lease_s
        ):
            return None
        site_table.drop_candidate(site, delegate)
        self._candidates.forget(delegate)
        self._candidates.exclude(delegate, now_s + self._state.rules.lease_s)
        return delegate

    def _assign(self, site: str, now_s: float, without: PeerId | None = None) -> list[Outgoing]:
        """Assign a site to the best peer now, and notify the peers concerned."""
        state, record = self._state, self._state.site_table.home_records[site]
        rule = state.rules.hand_over
        best = (
            state.descriptor
            if rule is None
            else self._candidates.delegate_for(record, rule, without, now_s)
        )
        if best.peer == record.delegate:
            if best.peer == state.id and site not in state.site_table.crawled:
                state.site_table.start_as_home(record, now_s)  # another home had released us
            return []
        return self._move_to(record, best, now_s)

    def _move_to(self, record: SiteRecord, successor: PeerDescriptor, now_s: float) -> list[Outgoing]:
        state, site = self._state, record.site
        former = delegate_descriptor(record) if record.delegate else None
        changed = state.site_table.set_delegate(site, successor, now_s)
        out: list[Outgoing] = []
        if successor.peer == state.id:
            changed = state.site_table.start_as_home(changed, now_s)
        else:
            state.site_table.stop_as_home(changed)
            out.append(Outgoing(successor, CrawlSite(changed, state.descriptor)))
        if former is not None and former.peer != state.id:
            out.append(Outgoing(former, ReleaseSite(site, changed.epoch, successor)))
        self._count_move(successor, former, changed.pages)
        return out

    def _count_move(
        self, successor: PeerDescriptor, former: PeerDescriptor | None, pages: float
    ) -> None:
        """Apply a move to the known loads at once, before the peers report it themselves."""
        for descriptor, change in ((successor, pages), (former, -pages)):
            neighbour = self._state.table.get(descriptor.peer) if descriptor is not None else None
            if neighbour is not None:
                load = neighbour.descriptor.load + change
                neighbour.descriptor = msgspec.structs.replace(neighbour.descriptor, load=load)

    # --- measuring ----------------------------------------------------------------------------

    def _request_measurement(self, site: str, rule: HandOverRule) -> list[Outgoing]:
        chosen = self._candidates.to_measure(self._state.site_table.home_records[site], rule)
        if chosen is None:
            return []
        wanted = Measure(site, self._state.descriptor)
        if chosen.peer == self._state.id:
            self.wanted_probes.append(wanted)
            return []
        return [Outgoing(chosen, wanted)]

    def on_measured(self, measured: SiteMeasured, now_s: float) -> list[Outgoing]:
        """A peer's measurement arrived: the site may move, and the next peer is asked."""
        rule = self._state.rules.hand_over
        if measured.site not in self._state.site_table.home_records or rule is None:
            return []
        self._candidates.on_measured(measured)
        by, took_ms = measured.by, measured.round_trip_ms
        answer = PeerMeasurement(by.peer, math.inf if took_ms is None else took_ms, by.point, by.address)
        self._state.site_table.add_measurement(measured.site, answer)
        return self._assign(measured.site, now_s) + self._request_measurement(measured.site, rule)

    # --- delegates ----------------------------------------------------------------------------

    def on_announce(self, announce: Announce, now_s: float) -> list[Outgoing]:
        """A peer crawls a site of ours: as assigned, by mistake, or because we lost the record."""
        site_table, crawler = self._state.site_table, announce.crawler
        self._candidates.on_descriptor(crawler)
        record = site_table.home_records.get(announce.record.site)
        if record is None:
            return self.adopt_sites([announce.record], now_s)
        if record.delegate == crawler.peer:
            record = site_table.on_delegate_alive(record.site, crawler, now_s)
            if announce.record.epoch < record.epoch:
                return [Outgoing(crawler, CrawlSite(record, self._state.descriptor))]
            return [Outgoing(crawler, Confirm(record.site, record.epoch))]
        if announce.record.epoch >= record.epoch:
            record = site_table.set_epoch(record.site, DelegateEpoch(announce.record.epoch + 1))
        return [Outgoing(crawler, ReleaseSite(record.site, record.epoch, delegate_descriptor(record)))]

    def on_hand_back(self, hand_back: HandBack, now_s: float) -> list[Outgoing]:
        """A leaving delegate returns its site."""
        record = self._state.site_table.home_records.get(hand_back.site)
        if record is None or record.delegate != hand_back.crawler:
            return []
        return self._assign(hand_back.site, now_s, without=hand_back.crawler)

    def on_delegate_unreachable(self, site: str, peer: PeerId, now_s: float) -> list[Outgoing]:
        """The delegate cannot be reached: choose another one at once."""
        record = self._state.site_table.home_records.get(site)
        self._candidates.exclude(peer, now_s + self._state.rules.lease_s)
        if record is None or record.delegate != peer:
            return []
        self._state.site_table.drop_candidate(site, peer)
        return self._assign(site, now_s, without=peer)

    def announcements(self) -> list[Outgoing]:
        """One message to the home of each site that we crawl for another home."""
        state, out = self._state, []
        for site, record in sorted(state.site_table.crawled.items()):
            if site not in state.site_table.home_records:
                out += self._routing.forward(Routed(record.key, Announce(record, state.descriptor)))
        return out

    def hand_backs(self) -> list[Outgoing]:
        """The same when we are about to leave: the sites go back."""
        state, out = self._state, []
        for site, record in sorted(state.site_table.crawled.items()):
            if site not in state.site_table.home_records:
                out += self._routing.forward(Routed(record.key, HandBack(site, state.id)))
        return out
