"""Descriptors sent by peers -> our neighbours, their neighbours, and those that are dead.

Invariant: a descriptor replaces one of the same peer only if its version is not older. A neighbour is a peer
with a zone that shares a face with one of ours; all others are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from ipmicra.model.zones import SpacePoint, ZoneBox
from ipmicra.protocol.overlay_messages import PeerDescriptor, PeerId

NEWEST = 2**62  # above every descriptor's version


@dataclass(slots=True)
class Neighbour:
    """What is known about one neighbour."""

    descriptor: PeerDescriptor
    last_message_s: float  # or the time since which we wait for its first message
    has_contacted_me: bool = False  # false: its descriptor came from other peers only
    unreachable_since_s: float | None = None  # reset by its next message
    neighbours: dict[PeerId, PeerDescriptor] = field(default_factory=dict)

    def dead_since_s(self, times: SuspicionTimes) -> float:
        """When it counts, or will count, as dead, unless a message arrives before."""
        by_silence_s = self.last_message_s + times.dead_after_s
        if self.unreachable_since_s is None:
            return by_silence_s
        return min(by_silence_s, self.unreachable_since_s + times.unreachable_after_s)


class SuspicionTimes(Protocol):
    """How long a neighbour may send nothing before it is dead, and how long if it is also unreachable."""

    @property
    def dead_after_s(self) -> float: ...

    @property
    def unreachable_after_s(self) -> float: ...


class NeighbourTable:
    """The neighbours of one peer."""

    def __init__(self) -> None:
        self._known: dict[PeerId, Neighbour] = {}
        self._removed: dict[PeerId, int] = {}  # the last version of peers that left or died

    def __contains__(self, peer: object) -> bool:
        return peer in self._known

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[Neighbour]:
        """In the order of their names, so that no decision depends on the order of arrival."""
        return iter([self._known[peer] for peer in sorted(self._known)])

    def get(self, peer: PeerId) -> Neighbour | None:
        return self._known.get(peer)

    def descriptors(self) -> list[PeerDescriptor]:
        return [neighbour.descriptor for neighbour in self]

    def learn(
        self, descriptor: PeerDescriptor, mine: Iterable[ZoneBox], now_s: float, direct: bool
    ) -> Neighbour | None:
        """Store a descriptor. `direct`: sent by the peer itself, so it is alive. None: not a neighbour."""
        if descriptor.version <= self._removed.get(descriptor.peer, -1) and not direct:
            return None
        self._removed.pop(descriptor.peer, None)
        known = self._known.get(descriptor.peer)
        if known is not None and descriptor.version < known.descriptor.version:
            return known
        if not borders(descriptor.zones, mine):
            self._known.pop(descriptor.peer, None)
            return None
        if known is None:
            known = self._known[descriptor.peer] = Neighbour(descriptor, now_s)
        known.descriptor = descriptor
        if direct:
            known.last_message_s = now_s
            known.has_contacted_me = True
            known.unreachable_since_s = None
        return known

    def is_outdated(self, descriptor: PeerDescriptor) -> bool:
        """Whether a newer descriptor of that peer is known."""
        known = self._known.get(descriptor.peer)
        return known is not None and descriptor.version < known.descriptor.version

    def on_unreachable(self, peer: PeerId, now_s: float) -> None:
        """The transport could not reach the neighbour."""
        known = self._known.get(peer)
        if known is not None and known.unreachable_since_s is None:
            known.unreachable_since_s = now_s

    def forget(self, peer: PeerId) -> Neighbour | None:
        return self._known.pop(peer, None)

    def remove_dead(self, peer: PeerId) -> None:
        """Remove a peer that left or died; descriptors of it from other peers are ignored from now on."""
        known = self._known.pop(peer, None)
        self._removed[peer] = known.descriptor.version if known is not None else NEWEST

    def is_dead(self, peer: PeerId) -> bool:
        """Whether the peer is known to have left or died."""
        return peer in self._removed

    def prune(self, mine: Iterable[ZoneBox]) -> list[PeerDescriptor]:
        """Drop the peers that no longer border our zones; returns their descriptors."""
        boxes = list(mine)
        gone = [n.descriptor for n in self if not borders(n.descriptor.zones, boxes)]
        for descriptor in gone:
            del self._known[descriptor.peer]
        return gone

    def nearest_to(self, key: SpacePoint, passed: Iterable[PeerId]) -> Neighbour | None:
        """The neighbour through which a message gets nearest to the key in two hops, without those passed."""
        avoid = set(passed)
        candidates = [n for n in self if n.descriptor.peer not in avoid]

        def nearness(neighbour: Neighbour) -> tuple[float, float, PeerId]:
            own = distance_to(neighbour.descriptor.zones, key)
            beyond = [distance_to(descriptor.zones, key) for descriptor in neighbour.neighbours.values()]
            return min([own, *beyond]), own, neighbour.descriptor.peer

        return min(candidates, key=nearness, default=None)

    def two_hops(self, me: PeerDescriptor) -> dict[PeerId, PeerDescriptor]:
        """Our neighbours' neighbours, our neighbours and ourselves; the newest descriptor of each."""
        found: dict[PeerId, PeerDescriptor] = {}
        for neighbour in self:
            for descriptor in neighbour.neighbours.values():
                if descriptor.peer not in found or descriptor.version > found[descriptor.peer].version:
                    found[descriptor.peer] = descriptor
        for neighbour in self:
            found[neighbour.descriptor.peer] = neighbour.descriptor
        found[me.peer] = me
        return found

    def alive(self, now_s: float, after_s: float) -> list[Neighbour]:
        """The neighbours that have contacted us recently."""
        return [
            n
            for n in self
            if n.has_contacted_me
            and n.unreachable_since_s is None
            and now_s - n.last_message_s <= after_s
        ]

    def dead(self, now_s: float, times: SuspicionTimes) -> list[Neighbour]:
        """The neighbours that have sent nothing for too long."""
        return [n for n in self if now_s > n.dead_since_s(times)]


def borders(theirs: Iterable[ZoneBox], mine: Iterable[ZoneBox]) -> bool:
    boxes = list(mine)
    return any(a.abuts(b) for a in theirs for b in boxes)


def distance_to(zones: Iterable[ZoneBox], key: SpacePoint) -> float:
    return min((zone.distance(key) for zone in zones), default=float("inf"))
