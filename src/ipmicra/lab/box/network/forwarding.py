"""Packets as they arrive, with the time -> packets as they are due.

A packet waits for its sender's uplink, travels, and waits for its receiver's downlink; it may be lost on
the way. Jitter never reorders the packets of one pair of addresses.

Invariant: the same packets at the same times with the same seed leave at the same times. Nothing leaves
before it is due; every packet that came in left, waits, or is counted as dropped.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from ipmicra.lab.box.network.nat import NatTable
from ipmicra.lab.box.network.packets import pair_of
from ipmicra.lab.box.network.paths import Path, Paths
from ipmicra.lab.box.network.plan import NetworkFault, NetworkPlan
from ipmicra.lab.box.network.queues import queue_of

PAIRS_MAX = 200_000  # paths remembered; then all are made again
NEVER = float("inf")


class Departure(NamedTuple):
    """A packet under way. At `due_s` it leaves by its path's wire, or reaches the downlink's queue."""

    due_s: float
    number: int  # ties leave in order of arrival
    packet: bytes
    path: Path
    at_downlink: bool


class Forwarding:
    """The state of the network between its wires."""

    def __init__(self, plan: NetworkPlan, dice: random.Random) -> None:
        self._plan = plan
        self._dice = dice
        self._paths = Paths(plan)
        self._known: dict[bytes, Path | None] = {}
        self._waiting: list[Departure] = []
        self._number = 0
        self._up = [queue_of(end.link.up_bytes_per_s, end.link.queue_s) for end in plan.endpoints]
        self._down = [queue_of(end.link.down_bytes_per_s, end.link.queue_s) for end in plan.endpoints]
        self._doors = [None if end.admits_calls else NatTable() for end in plan.endpoints]
        self._faults: list[NetworkFault] = []
        self._active: list[NetworkFault] = []
        self._next_change_s = NEVER
        self.dropped: Counter[str] = Counter()

    @property
    def paths(self) -> Paths:
        return self._paths

    def begin(self, now_s: float) -> None:
        """The plan's faults count from now."""
        for fault in self._plan.faults:
            self._faults.append(_moved(fault, now_s))
        self._change(now_s)

    def inflict(self, fault: NetworkFault, now_s: float) -> None:
        """One more fault, its times counted from now."""
        self._faults.append(_moved(fault, now_s))
        self._change(now_s)

    def heal(self, now_s: float) -> None:
        """All faults are over."""
        self._faults.clear()
        self._change(now_s)

    def on_packet(self, wire: int, packet: bytes, now_s: float) -> None:
        """A packet came in by a wire."""
        if now_s >= self._next_change_s:
            self._change(now_s)
        pair = pair_of(packet)
        try:
            path = self._known[pair]
        except KeyError:
            path = self._discover(wire, pair)
        if path is None:
            self.dropped["nowhere"] += 1
        elif not self._is_refused(path, packet, now_s):
            self._send(path, packet, now_s)

    def next_due_s(self) -> float | None:
        return self._waiting[0].due_s if self._waiting else None

    def departures(self, now_s: float) -> Iterator[Departure]:
        """Everything that is due, in order of time."""
        waiting = self._waiting
        while waiting and waiting[0].due_s <= now_s:
            departure = heapq.heappop(waiting)
            if departure.at_downlink:
                self._queue_down(departure)
            else:
                carried = departure.path.carried
                carried.packets += 1
                carried.packet_bytes += len(departure.packet)
                yield departure

    def _discover(self, wire: int, pair: bytes) -> Path | None:
        if len(self._known) >= PAIRS_MAX:
            self._known.clear()
        path = self._paths.path(wire, pair, self._active) if pair else None
        self._known[pair] = path
        return path

    def _is_refused(self, path: Path, packet: bytes, now_s: float) -> bool:
        """Dropped before it travels: cut off, unlucky, or not let in."""
        if path.cut:
            self.dropped["cut"] += 1
            return True
        door = self._doors[path.source]
        if door is not None:
            door.went_out(packet, now_s)
        door = self._doors[path.destination]
        if door is not None and not door.lets_in(packet, now_s):
            self.dropped["nat"] += 1
            return True
        if path.loss and self._dice.random() < path.loss:
            self.dropped["lost"] += 1
            return True
        return False

    def _send(self, path: Path, packet: bytes, now_s: float) -> None:
        uplink = self._up[path.source]
        leaves_s = now_s if uplink is None else uplink.leaves_at(now_s, len(packet))
        if leaves_s is None:
            self.dropped["queue"] += 1
            return
        due_s = leaves_s + path.one_way_s
        if self._plan.jitter_s:
            due_s = max(due_s + self._dice.random() * self._plan.jitter_s, path.last_due_s)
            path.last_due_s = due_s
        self._schedule(due_s, packet, path, self._down[path.destination] is not None)

    def _queue_down(self, departure: Departure) -> None:
        downlink = self._down[departure.path.destination]
        assert downlink is not None, "only limited links are queued for"
        leaves_s = downlink.leaves_at(departure.due_s, len(departure.packet))
        if leaves_s is None:
            self.dropped["queue"] += 1
        else:
            self._schedule(leaves_s, departure.packet, departure.path, at_downlink=False)

    def _schedule(self, due_s: float, packet: bytes, path: Path, at_downlink: bool) -> None:
        self._number += 1
        heapq.heappush(self._waiting, Departure(due_s, self._number, packet, path, at_downlink))

    def _change(self, now_s: float) -> None:
        """Faults begin or end: every path is found again."""
        self._faults = [fault for fault in self._faults if fault.until_s > now_s]
        self._active = [fault for fault in self._faults if fault.at_s <= now_s]
        moments = [fault.at_s for fault in self._faults if fault.at_s > now_s]
        moments += [fault.until_s for fault in self._faults]
        self._next_change_s = min(moments, default=NEVER)
        self._known.clear()


def _moved(fault: NetworkFault, by_s: float) -> NetworkFault:
    return NetworkFault(
        fault.at_s + by_s, fault.until_s + by_s, fault.one, fault.other, fault.effect, fault.amount
    )
