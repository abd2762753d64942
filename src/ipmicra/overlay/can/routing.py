"""A routed message -> the neighbour nearest to its key (greedy routing).

A message records the peers it has passed, so it never loops; an unreachable neighbour is recorded as
passed too, and the message takes another path.
"""

from __future__ import annotations

import msgspec

from ipmicra.overlay.can.peer_state import PeerState
from ipmicra.protocol.overlay_messages import Outgoing, PeerId, Routed


class Routing:
    """Forwards routed messages."""

    def __init__(self, state: PeerState) -> None:
        self._state = state
        self.routed_lost = 0

    def forward(self, routed: Routed) -> list[Outgoing]:
        nearest = self._state.table.nearest_to(routed.key, routed.seen)
        if nearest is None or routed.hops >= self._state.rules.hops_max:
            self.routed_lost += 1
            return []
        seen = routed.seen if self._state.id in routed.seen else (*routed.seen, self._state.id)
        return [
            Outgoing(
                nearest.descriptor, msgspec.structs.replace(routed, hops=routed.hops + 1, seen=seen)
            )
        ]

    def reroute(self, unreachable: PeerId, routed: Routed) -> list[Outgoing]:
        """Forward a message around an unreachable neighbour."""
        seen = (*routed.seen, unreachable)
        return self.forward(msgspec.structs.replace(routed, hops=routed.hops - 1, seen=seen))
