"""The endpoints of the box's network, their distances, and the planned faults: plain values.

An endpoint owns addresses: a crawler, the coordinator, one stand of a site. It is in one place, or in
several at once (anycast): then the nearest one answers.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec


class NetworkLink(msgspec.Struct, frozen=True):
    """An access link. A rate of 0 is without limit; the queue is drop-tail, in seconds at that rate."""

    up_bytes_per_s: float = 0.0
    down_bytes_per_s: float = 0.0
    queue_s: float = 0.2


class Endpoint(msgspec.Struct, frozen=True):
    """Owner of addresses, behind a wire (the number of a namespace's TUN device)."""

    name: str
    wire: int
    blocks: tuple[str, ...]  # addresses and prefixes
    places: tuple[int, ...]  # rows of the plan's one_way_s
    link: NetworkLink = NetworkLink()
    admits_calls: bool = True  # False: behind NAT, flows cannot be opened from outside
    answers: bool = True  # False: a black hole, packets to it vanish


class Effect(StrEnum):
    """The effect of a fault on packets between its two sides."""

    CUT = "cut"  # none gets through
    LOSS = "loss"  # so large a share more is lost
    ADDED = "added"  # each takes this many seconds longer, one way


class NetworkFault(msgspec.Struct, frozen=True):
    """Something that goes wrong between two groups of endpoints (by number), for a time."""

    at_s: float
    until_s: float
    one: frozenset[int]
    other: frozenset[int]
    effect: Effect
    amount: float = 0.0

    def concerns(self, source: int, destination: int) -> bool:
        """Between the sides, in either direction."""
        return (source in self.one and destination in self.other) or (
            source in self.other and destination in self.one
        )


class NetworkPlan(msgspec.Struct, frozen=True):
    """Everything the router has to know."""

    endpoints: tuple[Endpoint, ...]
    one_way_s: tuple[tuple[float, ...], ...]  # place by place
    jitter_s: float = 0.0  # added to each packet, uniform from 0 to this
    loss: float = 0.0
    faults: tuple[NetworkFault, ...] = ()
    seed: int = 1
