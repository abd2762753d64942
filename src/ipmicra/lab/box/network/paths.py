"""Two addresses, and the faults that are on -> the path between them.

Invariant: a path is a function of plan, pair and active faults. Bytes carried are counted per pair of
endpoints, and outlive the path.
"""

from __future__ import annotations

from collections.abc import Sequence

from ipmicra.lab.box.network.address_owners import AddressOwners
from ipmicra.lab.box.network.packets import ends_of
from ipmicra.lab.box.network.plan import Effect, NetworkFault, NetworkPlan


class RoutedPacket:
    """A packet from one endpoint to another, as it arrives."""

    __slots__ = ("packet_bytes", "packets")

    def __init__(self) -> None:
        self.packets = 0
        self.packet_bytes = 0


class Path:
    """How packets of one pair of addresses travel now. `last_due_s` keeps them in order."""

    __slots__ = ("carried", "cut", "destination", "last_due_s", "loss", "one_way_s", "source", "wire")

    def __init__(self, source: int, destination: int, wire: int, carried: RoutedPacket) -> None:
        self.source, self.destination, self.wire, self.carried = source, destination, wire, carried
        self.one_way_s = 0.0
        self.loss = 0.0
        self.cut = False
        self.last_due_s = 0.0


class Paths:
    """Makes paths, and counts the traffic between endpoints."""

    def __init__(self, plan: NetworkPlan) -> None:
        self._plan = plan
        self._owners = AddressOwners(plan.endpoints)
        self.carried: dict[tuple[int, int], RoutedPacket] = {}

    def path(self, wire: int, pair: bytes, active: Sequence[NetworkFault]) -> Path | None:
        """The path, or None: the destination has no owner, or the source does not belong to the device."""
        ends = ends_of(pair)
        source = self._owners.owner(ends.family, ends.source)
        destination = self._owners.owner(ends.family, ends.destination)
        if source is None or destination is None or self._plan.endpoints[source].wire != wire:
            return None
        carried = self.carried.setdefault((source, destination), RoutedPacket())
        found = Path(source, destination, self._plan.endpoints[destination].wire, carried)
        found.one_way_s = one_way_s(self._plan, source, destination)
        found.loss = self._plan.loss
        found.cut = not self._plan.endpoints[destination].answers
        for fault in active:
            if fault.concerns(source, destination):
                _inflict(found, fault)
        return found


def one_way_s(plan: NetworkPlan, source: int, destination: int) -> float:
    """Between the places that are nearest to each other."""
    ends = plan.endpoints
    return min(
        plan.one_way_s[here][there] for here in ends[source].places for there in ends[destination].places
    )


def _inflict(path: Path, fault: NetworkFault) -> None:
    if fault.effect is Effect.CUT:
        path.cut = True
    elif fault.effect is Effect.LOSS:
        path.loss = 1.0 - (1.0 - path.loss) * (1.0 - fault.amount)
    else:
        path.one_way_s = max(0.0, path.one_way_s + fault.amount)
