"""Messages -> messages: one peer of the network.

A peer owns zones, knows its neighbours, forwards routed messages towards the owner of their key, splits its
zone for newcomers, stores the records of the sites whose keys lie in its zones, and takes over the zones of
dead neighbours. Each of these is a class in its own file; this class connects them.

Invariant: no clock and no socket. `now_s` comes in; messages to send go out.
"""

from __future__ import annotations

from typing import assert_never

import msgspec

from ipmicra.model.zones import SpacePoint, ZoneBox
from ipmicra.overlay.can.gossip import Gossip
from ipmicra.overlay.can.neighbour_table import NeighbourTable
from ipmicra.overlay.can.peer_state import PeerState
from ipmicra.overlay.can.routing import Routing
from ipmicra.overlay.can.rules import PeerRules
from ipmicra.overlay.can.sites.assignment import SiteAssignments
from ipmicra.overlay.can.sites.registrar import Registrar
from ipmicra.overlay.can.sites.remote_replica import RemoteReplicas
from ipmicra.overlay.can.sites.site_table import SiteTable
from ipmicra.overlay.can.zones.admission import Admission
from ipmicra.overlay.can.zones.coverage import CoverageRepair
from ipmicra.overlay.can.zones.zone_transfer import ZoneTransfer
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
    """One peer. First `create_network` or `join`; then `handle` messages and call `tick` regularly."""

    def __init__(self, descriptor: PeerDescriptor, space: ZoneBox, rules: PeerRules) -> None:
        self._state = PeerState(descriptor, space, rules)
        self._routing = Routing(self._state)
        self._gossip = Gossip(self._state)
        self._assignment = SiteAssignments(self._state, self._routing)
        self._admission = Admission(self._state, self._gossip, self._assignment)
        self._zone_transfer = ZoneTransfer(self._state, self._gossip, self._assignment, self._admission)
        self._coverage = CoverageRepair(self._state, self._routing, self._gossip, self._assignment)
        self._remote_replicas = RemoteReplicas(self._state, self._assignment)
        self._registrar = Registrar(self._state, self._assignment)
        self._next_registration_s = 0.0
        self._next_replication_s = 0.0
        self.last_contact: PeerDescriptor | None = None  # to join again through, if all zones are lost
        self._next_coverage_check_s = 0.0
        self._next_gossip_s = 0.0
        self._next_announcement_s = 0.0

    @property
    def descriptor(self) -> PeerDescriptor:
        return self._state.descriptor

    @property
    def id(self) -> PeerId:
        return self._state.id

    @property
    def zones(self) -> tuple[ZoneBox, ...]:
        return self._state.zones

    @property
    def table(self) -> NeighbourTable:
        return self._state.table

    @property
    def site_table(self) -> SiteTable:
        return self._state.site_table

    @property
    def has_left(self) -> bool:
        return self._state.leaving and not self.zones

    @property
    def routed_lost(self) -> int:
        return self._routing.routed_lost

    def owns(self, key: SpacePoint) -> bool:
        return self._state.owns(key)

    def sites_known(self) -> set[str]:
        """Sites whose records this peer could restore alone."""
        copied = {*self._state.replicas.sites(), *self._remote_replicas.sites()}
        return {
            *self.site_table.home_records,
            *self.site_table.crawled,
            *self.site_table.unacknowledged,
            *copied,
        }

    def leased_sites(self, now_s: float) -> dict[str, SiteRecord]:
        """The sites that this peer may crawl now."""
        return self.site_table.leased_records(now_s - self._state.rules.lease_s)

    def nearby(self) -> list[PeerDescriptor]:
        """The peers within two hops that are not known to be dead."""
        found = self.table.two_hops(self.descriptor)
        return [
            descriptor
            for peer, descriptor in found.items()
            if peer != self.id and not self.table.is_dead(peer)
        ]

    # --- what the transport calls -------------------------------------------------------------

    def create_network(self) -> None:
        """Be the first peer: own the whole space."""
        self._state.set_zones([self._state.space])

    def join(self, via: PeerDescriptor) -> list[Outgoing]:
        """Ask a member of the network to admit us."""
        return self._admission.join_request(via)

    def leave(self, now_s: float) -> list[Outgoing]:
        """Begin to leave; we stay until a neighbour's update shows that it owns our zones (`has_left`)."""
        self._state.begin_to_leave()
        return self._assignment.hand_backs() + self._zone_transfer.offer_all(now_s)

    def take_wanted_probes(self) -> list[Measure]:
        """Round trips that the transport is to measure, each once; it reports them to `on_probed`."""
        wanted, self._assignment.wanted_probes = self._assignment.wanted_probes, []
        return wanted

    def on_probed(self, wanted: Measure, round_trip_ms: float | None) -> list[Outgoing]:
        answer = SiteMeasured(
            wanted.site, self.descriptor, round_trip_ms, tuple(self.table.descriptors())
        )
        return [Outgoing(wanted.home, answer)]

    def on_undelivered(self, outgoing: Outgoing, now_s: float) -> list[Outgoing]:
        """The transport could not reach a peer: reroute routed messages, assign its sites to another peer.

        All other messages are repeated anyway. The neighbour is declared dead sooner.
        """
        self.table.on_unreachable(outgoing.to.peer, now_s)
        match outgoing.message:
            case Routed():
                return self._routing.reroute(outgoing.to.peer, outgoing.message)
            case CrawlSite():
                return self._assignment.on_delegate_unreachable(
                    outgoing.message.record.site, outgoing.to.peer, now_s
                )
            case _:
                return []

    def change_address(self, address: str) -> list[Outgoing]:
        """Other peers reach us at this address from now on."""
        self._state.readdress(address)
        return self._gossip.updates_for(self.table.descriptors(), with_sites=False)

    def on_unreachable(self, peer: PeerId, now_s: float) -> None:
        """The transport lost its connection to a peer and could not open it again."""
        self.table.on_unreachable(peer, now_s)

    def tick(self, now_s: float) -> list[Outgoing]:
        """Find dead neighbours, claim their zones, send updates, and review the delegates of our sites."""
        state, out = self._state, []
        for neighbour in state.table.dead(now_s, state.rules):
            out += self._zone_transfer.claim_dead(neighbour, now_s)
        if now_s >= self._next_coverage_check_s:
            self._next_coverage_check_s = now_s + state.rules.claim_step_s
            out += self._coverage.check(now_s)
        if now_s >= self._next_gossip_s:
            self._next_gossip_s = now_s + state.rules.gossip_every_s
            state.replicas.expire(now_s - state.rules.replicas_kept_s)
            self._registrar.expire_names(now_s)
            offer = (
                self._zone_transfer.offer_all if state.leaving else self._zone_transfer.offer_fragment
            )
            out += offer(now_s)
            out += self._assignment.review(now_s)
            out += self._gossip.announce()
            out += self._assignment.pending_submissions() + self._registrar.pending_requests()
        if now_s >= self._next_replication_s:
            self._next_replication_s = now_s + state.rules.replicate_every_s
            out += self._remote_replicas.replications() + self._remote_replicas.restore_overdue(now_s)
        if now_s >= self._next_registration_s:
            self._next_registration_s = now_s + state.rules.register_every_s
            out += self._registrar.renewals()
        if now_s >= self._next_announcement_s:
            self._next_announcement_s = now_s + state.rules.announce_every_s
            sites = self._assignment
            out += sites.hand_backs() if state.leaving else sites.announcements()
        return out

    def handle(self, message: PeerMessage, now_s: float) -> list[Outgoing]:
        match message:
            case Routed():
                return self._on_routed(message, now_s)
            case Update():
                return self._on_update(message, now_s)
            case Welcome():
                return self._admission.on_welcome(message, now_s)
            case HandOver():
                return self._zone_transfer.on_hand_over(message, now_s)
            case ConflictNotice():
                return self._zone_transfer.on_rival(message.descriptor)
            case StoreRecords():
                return self._assignment.adopt_sites(message.sites, now_s)
            case SiteMeasured():
                return self._assignment.on_measured(message, now_s)
            case LocateReply():
                return self._coverage.on_located(message, now_s)
            case Registered():
                return self._registrar.on_registered(message.record)
            case PeerLeft() | SubmitAck() | CrawlSite() | Confirm() | ReleaseSite() | Measure():
                self._apply(message, now_s)
                return []
            case never:
                assert_never(never)

    # --- handling -----------------------------------------------------------------------------

    def _apply(
        self, message: PeerLeft | SubmitAck | CrawlSite | Confirm | ReleaseSite | Measure, now_s: float
    ) -> None:
        """Messages that need no reply now."""
        match message:
            case PeerLeft():
                self.table.remove_dead(message.leaver)
                if message.successor.peer != self.id:
                    self.table.learn(message.successor, self.zones, now_s, direct=False)
            case SubmitAck():
                self.site_table.unacknowledged.pop(message.site, None)
            case CrawlSite():
                self.site_table.start_crawling(message.record, now_s)
            case Confirm():
                self.site_table.on_confirmed(message.site, message.epoch, now_s)
            case ReleaseSite():
                self.site_table.stop_crawling(message.site, message.epoch)
            case Measure():
                self._assignment.wanted_probes.append(message)
            case never:
                assert_never(never)

    def _on_update(self, update: Update, now_s: float) -> list[Outgoing]:
        if self.table.is_outdated(update.descriptor):
            return []
        self.last_contact = update.descriptor
        out = self._zone_transfer.on_offer_taken(update.descriptor, now_s)
        out += self._zone_transfer.resolve_conflict(update.descriptor, now_s)
        return out + self._gossip.on_update(update, now_s)

    def _on_routed(self, routed: Routed, now_s: float) -> list[Outgoing]:
        if isinstance(routed.payload, Submit) and routed.payload.taken_in_by is None:
            return self._registrar.register(routed.payload.record)
        payload = self._admission.stamp_scheme(routed.payload)
        if self.owns(routed.key) or (isinstance(payload, Join) and payload.passed_on):
            return self._deliver(payload, routed, now_s)
        return self._routing.forward(msgspec.structs.replace(routed, payload=payload))

    def _deliver(self, payload: RoutedPayload, routed: Routed, now_s: float) -> list[Outgoing]:
        match payload:
            case Join():
                return self._admission.on_join(payload, routed, now_s)
            case Submit():
                return self._assignment.on_submit(payload, now_s)
            case Announce():
                return self._assignment.on_announce(payload, now_s)
            case HandBack():
                return self._assignment.on_hand_back(payload, now_s)
            case Register():
                return self._registrar.on_register(payload, now_s)
            case ReplicateFar():
                self._remote_replicas.store(payload.records, now_s)
                return []
            case Locate():
                return [
                    Outgoing(payload.asker, LocateReply(payload.question, self.descriptor, routed.hops))
                ]
            case never:
                assert_never(never)
