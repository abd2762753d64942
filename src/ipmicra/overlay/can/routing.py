"""A letter and a key -> the neighbour that is nearest to the key (greedy routing).

A letter notes whom it has passed, so it never goes in circles; a neighbour that cannot be reached is
noted likewise and the letter takes another way.
"""

from __future__ import annotations

import msgspec

from ipmicra.overlay.can.peer_state import PeerState
from ipmicra.protocol.overlay_messages import Outgoing, PeerId, Routed


class Routing:
    """Passes letters on."""

    def __init__(self, known: PeerState) -> None:
        self._known = known
        self.letters_lost = 0

    def passed_on(self, routed: Routed) -> list[Outgoing]:
        nearest = self._known.table.nearest_to(routed.key, routed.seen)
        if nearest is None or routed.hops >= self._known.rules.hops_max:
            self.letters_lost += 1
            return []
        seen = routed.seen if self._known.id in routed.seen else (*routed.seen, self._known.id)
        return [Outgoing(nearest.card, msgspec.structs.replace(routed, hops=routed.hops + 1, seen=seen))]

    def around(self, unreachable: PeerId, routed: Routed) -> list[Outgoing]:
        """Send a letter another way."""
        seen = (*routed.seen, unreachable)
        return self.passed_on(msgspec.structs.replace(routed, hops=routed.hops - 1, seen=seen))
