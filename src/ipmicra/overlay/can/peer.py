"""Messages -> messages: one peer of the network.

A peer owns zones, knows its neighbours, passes letters on towards the owner of their key, splits its
zone for a newcomer, keeps the records of the sites whose keys lie in its zones, and takes over from a
neighbour that fell silent. Each of these is a part in a file of its own; here they are conducted.

Law: no clock and no socket. `now_s` comes in; what is to be sent goes out.
"""

from __future__ import annotations

from typing import assert_never

import msgspec

from ipmicra.model.zones import SpacePoint, ZoneBox
from ipmicra.overlay.can.admission import Admission
from ipmicra.overlay.can.assignment import SiteAssignments
from ipmicra.overlay.can.coverage import CoverageRepair
from ipmicra.overlay.can.gossip import Gossip
from ipmicra.overlay.can.neighbour_table import NeighbourTable
from ipmicra.overlay.can.peer_state import PeerState
from ipmicra.overlay.can.registrar import Registrar
from ipmicra.overlay.can.remote_replica import RemoteReplicas
from ipmicra.overlay.can.routing import Routing
from ipmicra.overlay.can.rules import PeerRules
from ipmicra.overlay.can.site_table import SiteTable
from ipmicra.overlay.can.zone_transfer import ZoneTransfer
from ipmicra.protocol.overlay_messages import (
    Announce,
    Confirm,
    ConflictNotice,
    CrawlSite,
    HandBack,
    HandOver,
    Join,
    Locate,
    LocateReply,
    Measure,
    Outgoing,
    PeerDescriptor,
    PeerId,
    PeerLeft,
    PeerMessage,
    Register,
    Registered,
    ReleaseSite,
    ReplicateFar,
    Routed,
    RoutedPayload,
    SiteMeasured,
    SiteRecord,
    StoreRecords,
    Submit,
    SubmitAck,
    Update,
    Welcome,
)


class Peer:
    """One peer. `found` or `join` first; then `handle` what arrives and call `tick` now and then."""

    def __init__(self, card: PeerDescriptor, space: ZoneBox, rules: PeerRules) -> None:
        self._known = PeerState(card, space, rules)
        self._routing = Routing(self._known)
        self._greeting = Gossip(self._known)
        self._assignment = SiteAssignments(self._known, self._routing)
        self._admission = Admission(self._known, self._greeting, self._assignment)
        self._succession = ZoneTransfer(self._known, self._greeting, self._assignment, self._admission)
        self._holes = CoverageRepair(self._known, self._routing, self._greeting, self._assignment)
        self._witness = RemoteReplicas(self._known, self._assignment)
        self._registrar = Registrar(self._known, self._assignment)
        self._next_registration_s = 0.0
        self._next_testimony_s = 0.0
        self.last_heard: PeerDescriptor | None = (
            None  # by whom to come in again, should I lose all my zones
        )
        self._next_look_s = 0.0
        self._next_hello_s = 0.0
        self._next_announcement_s = 0.0

    @property
    def card(self) -> PeerDescriptor:
        return self._known.card

    @property
    def id(self) -> PeerId:
        return self._known.id

    @property
    def zones(self) -> tuple[ZoneBox, ...]:
        return self._known.zones

    @property
    def table(self) -> NeighbourTable:
        return self._known.table

    @property
    def book(self) -> SiteTable:
        return self._known.book

    @property
    def has_left(self) -> bool:
        return self._known.leaving and not self.zones

    @property
    def letters_lost(self) -> int:
        return self._routing.letters_lost

    def owns(self, key: SpacePoint) -> bool:
        return self._known.owns(key)

    def sites_known(self) -> set[str]:
        """Sites that would not be forgotten if I alone remained."""
        copied = {*self._known.copies.sites(), *self._witness.sites()}
        return {*self.book.homed, *self.book.crawled, *self.book.on_their_way, *copied}

    def leased(self, now_s: float) -> dict[str, SiteRecord]:
        """The sites that I may crawl now."""
        return self.book.leased(now_s - self._known.rules.lease_s)

    def around(self) -> list[PeerDescriptor]:
        """The peers within two hops, as far as they live."""
        found = self.table.two_hops(self.card)
        return [card for peer, card in found.items() if peer != self.id and not self.table.mourns(peer)]

    # --- what the transport calls -------------------------------------------------------------

    def found(self) -> None:
        """Be the first peer: own the whole space."""
        self._known.set_zones([self._known.space])

    def join(self, via: PeerDescriptor) -> list[Outgoing]:
        """Ask a peer that is in the network already to let me in."""
        return self._admission.asked_of(via)

    def leave(self, now_s: float) -> list[Outgoing]:
        """Begin to leave; I stay until a neighbour's greeting shows that it has my zones (`has_left`)."""
        self._known.begin_to_leave()
        return self._assignment.resignations() + self._succession.left(now_s)

    def probes_wanted(self) -> list[Measure]:
        """Round trips that the transport is to time, each once; it answers by `probed`."""
        wanted, self._assignment.probes_wanted = self._assignment.probes_wanted, []
        return wanted

    def probed(self, wanted: Measure, round_trip_ms: float | None) -> list[Outgoing]:
        answer = SiteMeasured(wanted.site, self.card, round_trip_ms, tuple(self.table.cards()))
        return [Outgoing(wanted.home, answer)]

    def undelivered(self, outgoing: Outgoing, now_s: float) -> list[Outgoing]:
        """The transport could not reach a peer: letters take another way, sites go to somebody else.

        Everything else is said again anyway. A neighbour is waited for a shorter time than otherwise.
        """
        self.table.unreached(outgoing.to.peer, now_s)
        match outgoing.message:
            case Routed():
                return self._routing.around(outgoing.to.peer, outgoing.message)
            case CrawlSite():
                return self._assignment.refused(outgoing.message.record.site, outgoing.to.peer, now_s)
            case _:
                return []

    def readdressed(self, address: str) -> list[Outgoing]:
        """Others reach me elsewhere from now on."""
        self._known.readdress(address)
        return self._greeting.to(self.table.cards(), with_sites=False)

    def unreached(self, peer: PeerId, now_s: float) -> None:
        """The transport lost its line to a peer and could not open it again."""
        self.table.unreached(peer, now_s)

    def tick(self, now_s: float) -> list[Outgoing]:
        """Notice silence, claim what the dead left, greet, and review who crawls my sites."""
        known, out = self._known, []
        for neighbour in known.table.dead(now_s, known.rules):
            out += self._succession.mourned(neighbour, now_s)
        if now_s >= self._next_look_s:
            self._next_look_s = now_s + known.rules.claim_step_s
            out += self._holes.looked(now_s)
        if now_s >= self._next_hello_s:
            self._next_hello_s = now_s + known.rules.hello_every_s
            known.copies.expire(now_s - known.rules.copies_kept_s)
            out += self._succession.left(now_s) if known.leaving else self._succession.gave_back(now_s)
            out += self._assignment.reviewed(now_s)
            out += self._greeting.hello()
            out += self._assignment.sent_again() + self._registrar.asked_again()
        if now_s >= self._next_testimony_s:
            self._next_testimony_s = now_s + known.rules.testify_every_s
            out += self._witness.told() + self._witness.spoken(now_s)
        if now_s >= self._next_registration_s:
            self._next_registration_s = now_s + known.rules.register_every_s
            out += self._registrar.told()
        if now_s >= self._next_announcement_s:
            self._next_announcement_s = now_s + known.rules.announce_every_s
            say = self._assignment
            out += say.resignations() if known.leaving else say.announcements()
        return out

    def handle(self, message: PeerMessage, now_s: float) -> list[Outgoing]:
        match message:
            case Routed():
                return self._routed(message, now_s)
            case Update():
                return self._updated(message, now_s)
            case Welcome():
                return self._admission.welcomed(message, now_s)
            case HandOver():
                return self._succession.inherited(message, now_s)
            case ConflictNotice():
                return self._succession.challenged(message.card)
            case StoreRecords():
                return self._assignment.homed(message.sites, now_s)
            case SiteMeasured():
                return self._assignment.was_measured(message, now_s)
            case LocateReply():
                return self._holes.answered(message, now_s)
            case Registered():
                return self._registrar.answered(message.record)
            case PeerLeft() | SubmitAck() | CrawlSite() | Confirm() | ReleaseSite() | Measure():
                self._told(message, now_s)
                return []
            case never:
                assert_never(never)

    # --- what comes of a message --------------------------------------------------------------

    def _told(
        self, message: PeerLeft | SubmitAck | CrawlSite | Confirm | ReleaseSite | Measure, now_s: float
    ) -> None:
        """What needs no answer now."""
        match message:
            case PeerLeft():
                self.table.bury(message.leaver)
                if message.heir.peer != self.id:
                    self.table.note(message.heir, self.zones, now_s, heard=False)
            case SubmitAck():
                self.book.on_their_way.pop(message.site, None)
            case CrawlSite():
                self.book.take_up(message.record, now_s)
            case Confirm():
                self.book.confirmed(message.site, message.epoch, now_s)
            case ReleaseSite():
                self.book.lay_down(message.site, message.epoch)
            case Measure():
                self._assignment.probes_wanted.append(message)
            case never:
                assert_never(never)

    def _updated(self, update: Update, now_s: float) -> list[Outgoing]:
        if self.table.is_outdated(update.card):
            return []
        self.last_heard = update.card
        out = self._succession.taken_up(update.card, now_s)
        out += self._succession.settled(update.card, now_s)
        return out + self._greeting.heard(update, now_s)

    def _routed(self, routed: Routed, now_s: float) -> list[Outgoing]:
        if isinstance(routed.letter, Submit) and routed.letter.taken_in_by is None:
            return self._registrar.asked(routed.letter.record)
        letter = self._admission.stamped(routed.letter)
        if self.owns(routed.key) or (isinstance(letter, Join) and letter.passed_on):
            return self._delivered(letter, routed, now_s)
        return self._routing.passed_on(msgspec.structs.replace(routed, letter=letter))

    def _delivered(self, letter: RoutedPayload, routed: Routed, now_s: float) -> list[Outgoing]:
        match letter:
            case Join():
                return self._admission.admitted(letter, routed, now_s)
            case Submit():
                return self._assignment.submitted(letter, now_s)
            case Announce():
                return self._assignment.announced(letter, now_s)
            case HandBack():
                return self._assignment.resigned(letter, now_s)
            case Register():
                return self._registrar.registered(letter, now_s)
            case ReplicateFar():
                self._witness.heard(letter.records, now_s)
                return []
            case Locate():
                return [Outgoing(letter.asker, LocateReply(letter.question, self.card, routed.hops))]
            case never:
                assert_never(never)
