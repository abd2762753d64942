"""Peers under a virtual clock with message delays.

Each peer ticks twice per second with its own offset, messages between two peers keep their order, a peer
without a zone tries to join again, and a crash is noticed as with TCP: by the peers connected to it.
"""

from __future__ import annotations

import heapq
import itertools
from random import Random

from ipmicra.model.zones import SpacePoint, ZoneBox, key_in
from ipmicra.overlay.can.peer import Peer
from ipmicra.overlay.can.rules import PeerRules
from ipmicra.protocol.overlay_messages import (
    Outgoing,
    PeerDescriptor,
    PeerId,
    Routed,
    SiteRecord,
    Submit,
)
from tests.overlay.network import random_point

TICK_SECONDS, JOIN_AGAIN_SECONDS = 0.5, 5.0
DELAY_SECONDS = (0.001, 0.05)


class TimedNetwork:
    """Delays and tick offsets are random; the same seed gives the same run."""

    def __init__(self, space: ZoneBox, rules: PeerRules, seed: int) -> None:
        self.space, self.rules, self.dice = space, rules, Random(seed)
        self.peers: dict[PeerId, Peer] = {}
        self.now_s = 0.0
        self._events: list[tuple[float, int, Peer, Outgoing | None]] = []
        self._numbers = itertools.count()
        self._last_s: dict[tuple[PeerId, PeerId], float] = {}
        self._via: dict[PeerId, Peer] = {}
        self._join_at_s: dict[PeerId, float] = {}

    def add(self, name: str, via: Peer | None = None) -> Peer:
        descriptor = PeerDescriptor(PeerId(name), random_point(self.dice, self.space), ())
        peer = self.peers[descriptor.peer] = Peer(descriptor, self.space, self.rules)
        if via is None:
            peer.create_network()
        else:
            self._via[peer.id] = via
        self._at(self.now_s + self.dice.uniform(0, TICK_SECONDS), peer, None)
        return peer

    def submit(self, site: str, point: SpacePoint) -> None:
        key = key_in(self.space, point)
        submit = Routed(key, Submit(SiteRecord(site, key, point)))
        any_peer = self.peers[self.dice.choice(sorted(self.peers))]
        self._post(any_peer, [Outgoing(any_peer.descriptor, submit)])

    def crash(self, names: list[PeerId]) -> None:
        """All of them at once; the others find their connections to them broken."""
        for name in names:
            del self.peers[name]
        for peer in self.peers.values():
            for name in names:
                peer.on_unreachable(name, self.now_s)

    def run(self, seconds: float) -> None:
        end_s = self.now_s + seconds
        while self._events and self._events[0][0] <= end_s:
            self.now_s, _, peer, outgoing = heapq.heappop(self._events)
            if self.peers.get(peer.id) is peer and outgoing is None:
                self._tick(peer)
            elif outgoing is not None:
                self._deliver(peer, outgoing)
        self.now_s = end_s

    def _tick(self, peer: Peer) -> None:
        if peer.zones:
            self._post(peer, peer.tick(self.now_s))
        elif self.now_s >= self._join_at_s.get(peer.id, 0.0):
            self._join_at_s[peer.id] = self.now_s + JOIN_AGAIN_SECONDS
            self._post(peer, peer.join(peer.last_contact or self._via[peer.id].descriptor))
        self._at(self.now_s + TICK_SECONDS, peer, None)

    def _deliver(self, sender: Peer, outgoing: Outgoing) -> None:
        receiver = self.peers.get(outgoing.to.peer)
        if receiver is not None:
            self._post(receiver, receiver.handle(outgoing.message, self.now_s))
        elif sender.id in self.peers:
            self._post(sender, sender.on_undelivered(outgoing, self.now_s))

    def _post(self, sender: Peer, messages: list[Outgoing]) -> None:
        for outgoing in messages:
            pair = (sender.id, outgoing.to.peer)
            arrives_s = self.now_s + self.dice.uniform(*DELAY_SECONDS)
            self._last_s[pair] = max(arrives_s, self._last_s.get(pair, 0.0) + 1e-6)
            self._at(self._last_s[pair], sender, outgoing)

    def _at(self, when_s: float, peer: Peer, outgoing: Outgoing | None) -> None:
        heapq.heappush(self._events, (when_s, next(self._numbers), peer, outgoing))
