"""Cards that peers sent -> who is next to me, who is next to them, and who has fallen silent.

Law: a card replaces one of the same peer only if its version is not older. A neighbour is a peer one of
whose zones shares a face with one of mine; everybody else is forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from ipmicra.model.zones import SpacePoint, ZoneBox
from ipmicra.protocol.overlay_messages import PeerDescriptor, PeerId

NEWEST = 2**62  # no card's version is above it


@dataclass(slots=True)
class Neighbour:
    """What I know of one neighbour."""

    card: PeerDescriptor
    heard_s: float  # or since when I wait to hear from it
    met: bool = False  # it has spoken to me itself; otherwise I have its card from others
    unreached_s: float | None = None  # since when it could not be reached, unless it spoke after that
    neighbours: dict[PeerId, PeerDescriptor] = field(default_factory=dict)

    def dead_since_s(self, patience: SuspicionTimes) -> float:
        """When it counts, or will count, as dead, unless it speaks before."""
        by_silence_s = self.heard_s + patience.silent_after_s
        if self.unreached_s is None:
            return by_silence_s
        return min(by_silence_s, self.unreached_s + patience.unreached_after_s)


class SuspicionTimes(Protocol):
    """How long a neighbour may keep silent, and how long if it cannot be reached either."""

    @property
    def silent_after_s(self) -> float: ...

    @property
    def unreached_after_s(self) -> float: ...


class NeighbourTable:
    """My neighbours."""

    def __init__(self) -> None:
        self._known: dict[PeerId, Neighbour] = {}
        self._departed: dict[PeerId, int] = {}  # the last version of those who left or died

    def __contains__(self, peer: object) -> bool:
        return peer in self._known

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[Neighbour]:
        """In the order of their names, so that no decision hangs on arrival."""
        return iter([self._known[peer] for peer in sorted(self._known)])

    def get(self, peer: PeerId) -> Neighbour | None:
        return self._known.get(peer)

    def cards(self) -> list[PeerDescriptor]:
        return [neighbour.card for neighbour in self]

    def note(
        self, card: PeerDescriptor, mine: Iterable[ZoneBox], now_s: float, heard: bool
    ) -> Neighbour | None:
        """Take in a card. `heard`: from the peer itself, so it is alive. None: not my neighbour."""
        if card.version <= self._departed.get(card.peer, -1) and not heard:
            return None
        self._departed.pop(card.peer, None)
        known = self._known.get(card.peer)
        if known is not None and card.version < known.card.version:
            return known
        if not borders(card.zones, mine):
            self._known.pop(card.peer, None)
            return None
        if known is None:
            known = self._known[card.peer] = Neighbour(card, now_s)
        known.card = card
        if heard:
            known.heard_s = now_s
            known.met = True
            known.unreached_s = None
        return known

    def is_outdated(self, card: PeerDescriptor) -> bool:
        """Whether I have a newer card of that peer."""
        known = self._known.get(card.peer)
        return known is not None and card.version < known.card.version

    def unreached(self, peer: PeerId, now_s: float) -> None:
        """The transport could not reach the neighbour."""
        known = self._known.get(peer)
        if known is not None and known.unreached_s is None:
            known.unreached_s = now_s

    def forget(self, peer: PeerId) -> Neighbour | None:
        return self._known.pop(peer, None)

    def bury(self, peer: PeerId) -> None:
        """Forget a peer that left or died; what others still tell of it counts no more."""
        known = self._known.pop(peer, None)
        self._departed[peer] = known.card.version if known is not None else NEWEST

    def mourns(self, peer: PeerId) -> bool:
        """Whether the peer has left or died, as far as I know."""
        return peer in self._departed

    def prune(self, mine: Iterable[ZoneBox]) -> list[PeerDescriptor]:
        """Forget those who no longer border my zones; returns their cards."""
        boxes = list(mine)
        gone = [n.card for n in self if not borders(n.card.zones, boxes)]
        for card in gone:
            del self._known[card.peer]
        return gone

    def nearest_to(self, key: SpacePoint, passed: Iterable[PeerId]) -> Neighbour | None:
        """The neighbour by whom a letter comes nearest to the key in two hops, of those not passed yet."""
        avoid = set(passed)
        candidates = [n for n in self if n.card.peer not in avoid]

        def nearness(neighbour: Neighbour) -> tuple[float, float, PeerId]:
            own = distance_to(neighbour.card.zones, key)
            beyond = [distance_to(card.zones, key) for card in neighbour.neighbours.values()]
            return min([own, *beyond]), own, neighbour.card.peer

        return min(candidates, key=nearness, default=None)

    def two_hops(self, me: PeerDescriptor) -> dict[PeerId, PeerDescriptor]:
        """My neighbours' neighbours, my neighbours and I; the newest card of each."""
        found: dict[PeerId, PeerDescriptor] = {}
        for neighbour in self:
            for card in neighbour.neighbours.values():
                if card.peer not in found or card.version > found[card.peer].version:
                    found[card.peer] = card
        for neighbour in self:
            found[neighbour.card.peer] = neighbour.card
        found[me.peer] = me
        return found

    def alive(self, now_s: float, after_s: float) -> list[Neighbour]:
        """Those who spoke to me themselves, and lately."""
        return [n for n in self if n.met and n.unreached_s is None and now_s - n.heard_s <= after_s]

    def dead(self, now_s: float, patience: SuspicionTimes) -> list[Neighbour]:
        """Those who have been silent for too long."""
        return [n for n in self if now_s > n.dead_since_s(patience)]


def borders(theirs: Iterable[ZoneBox], mine: Iterable[ZoneBox]) -> bool:
    boxes = list(mine)
    return any(a.abuts(b) for a in theirs for b in boxes)


def distance_to(zones: Iterable[ZoneBox], key: SpacePoint) -> float:
    return min((zone.distance(key) for zone in zones), default=float("inf"))
