"""Peers in one process: a queue of messages, a virtual clock, and simulated crashes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from random import Random
from typing import Protocol

from ipmicra.model.zones import SpacePoint, ZoneBox, key_in
from ipmicra.overlay.can.peer import Peer
from ipmicra.overlay.can.rules import PeerRules
from ipmicra.protocol.overlay_messages import (
    Locate,
    LocateReply,
    Outgoing,
    PeerDescriptor,
    PeerId,
    PeerMeasurement,
    Routed,
    SiteRecord,
    Submit,
)


class Network:
    """Carries messages between peers in order; a message to a dead peer is lost.

    With `reports_unreachable` the sender learns that a peer could not be reached, as over TCP.
    """

    def __init__(self, space: ZoneBox, rules: PeerRules) -> None:
        self.space, self.rules = space, rules
        self.peers: dict[PeerId, Peer] = {}
        self.now_s = 0.0
        self.carried = 0
        self.located: list[LocateReply] = []
        self.round_trip: Callable[[PeerId, str], float | None] = lambda _peer, _site: None
        self.reports_unreachable = False
        self._queue: deque[tuple[Peer | None, Outgoing]] = deque()

    def add(self, name: str, point: SpacePoint, via: Peer | None = None) -> Peer:
        peer = Peer(PeerDescriptor(PeerId(name), point, ()), self.space, self.rules)
        self.peers[peer.id] = peer
        if via is None:
            peer.create_network()
        else:
            self.send(peer.join(via.descriptor))
        return peer

    def send(self, outgoing: list[Outgoing], sender: Peer | None = None) -> None:
        self._post(sender, outgoing)
        while self._queue:
            writer, outgoing_message = self._queue.popleft()
            self.carried += 1
            if isinstance(outgoing_message.message, LocateReply):
                self.located.append(outgoing_message.message)
            receiver = self.peers.get(outgoing_message.to.peer)
            if receiver is not None:
                self._post(receiver, receiver.handle(outgoing_message.message, self.now_s))
                self._answer_probes(receiver)
            elif self.reports_unreachable and writer is not None:
                self._post(writer, writer.on_undelivered(outgoing_message, self.now_s))

    def _post(self, sender: Peer | None, outgoing: list[Outgoing]) -> None:
        self._queue.extend((sender, outgoing_message) for outgoing_message in outgoing)

    def _answer_probes(self, peer: Peer) -> None:
        for measure in peer.take_wanted_probes():
            self._post(peer, peer.on_probed(measure, self.round_trip(peer.id, measure.site)))

    def submit(
        self, site: str, point: SpacePoint, via: Peer, measured: tuple[PeerMeasurement, ...] = ()
    ) -> None:
        record = SiteRecord(site, key_in(self.space, point), point, measured=measured)
        self.send([Outgoing(via.descriptor, Routed(record.key, Submit(record)))])

    def locate(self, key: SpacePoint, asker: Peer) -> LocateReply | None:
        self.located.clear()
        self.send([Outgoing(asker.descriptor, Routed(key, Locate(asker.descriptor, "?")))])
        return self.located[-1] if self.located else None

    def run(self, seconds: float, step_s: float = 1.0) -> None:
        until = self.now_s + seconds
        while self.now_s < until:
            self.now_s += step_s
            for name in sorted(self.peers):
                peer = self.peers[name]
                self.send(peer.tick(self.now_s), peer)
                self._answer_probes(peer)
                self.send([])
            self._remove_leavers()

    def crash(self, name: PeerId) -> None:
        del self.peers[name]

    def leave(self, name: PeerId) -> None:
        """Begin to leave; the peer is removed when it has left."""
        self.send(self.peers[name].leave(self.now_s))
        self._remove_leavers()

    def _remove_leavers(self) -> None:
        for name in [name for name, peer in self.peers.items() if peer.has_left]:
            del self.peers[name]


class Peers(Protocol):
    """What the checks need: the space and its peers."""

    @property
    def space(self) -> ZoneBox: ...

    @property
    def peers(self) -> dict[PeerId, Peer]: ...


def tiling_faults(network: Peers) -> list[str]:
    """What is wrong with the zones and the neighbour tables; empty when all is correct."""
    owned = [(peer, zone) for peer in network.peers.values() for zone in peer.zones]
    faults = []
    total = sum(zone.volume for _, zone in owned)
    if abs(total - network.space.volume) > 1e-6 * network.space.volume:
        faults.append(f"zones fill {total / network.space.volume:.6f} of the space")
    for i, (first, a) in enumerate(owned):
        for second, b in owned[i + 1 :]:
            if a.overlaps(b):
                faults.append(f"{first.id} and {second.id} overlap")
            bordering = a.abuts(b) and first is not second
            if bordering and (second.id not in first.table or first.id not in second.table):
                faults.append(f"{first.id} and {second.id} are neighbours and do not know it")
    for peer in network.peers.values():
        for descriptor in peer.table.descriptors():
            known = network.peers.get(descriptor.peer)
            if known is None or descriptor.zones != known.zones:
                faults.append(f"{peer.id} has an old descriptor of {descriptor.peer}")
    return faults


def site_faults(network: Peers, sites: int) -> list[str]:
    """What is wrong with the sites: each must have one home, which owns its key, and one crawler."""
    homes = [
        record.site
        for peer in network.peers.values()
        for record in peer.site_table.home_records.values()
    ]
    crawlers = [site for peer in network.peers.values() for site in peer.site_table.crawled]
    faults = []
    if not len(set(homes)) == sites == len(homes):
        faults.append(f"{len(homes)} homes of {len(set(homes))} sites")
    if not len(set(crawlers)) == sites == len(crawlers):
        faults.append(f"{len(crawlers)} crawlers of {len(set(crawlers))} sites")
    for peer in network.peers.values():
        faults += [
            f"{r.site} is not in {peer.id}"
            for r in peer.site_table.home_records.values()
            if not peer.owns(r.key)
        ]
    return faults


def random_point(dice: Random, space: ZoneBox) -> SpacePoint:
    return tuple(dice.uniform(low, high) for low, high in zip(space.low, space.high, strict=True))
