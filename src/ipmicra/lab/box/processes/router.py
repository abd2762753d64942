"""TUN devices and a network plan -> packets forwarded on time: the router's process.

    python -m ipmicra.lab.box.processes.router CONTROL TUN TUN ...      descriptors, inherited

All decisions are in `network/`; this module has the devices, the clock and the priority. The
plan comes as the first message on the control socket; then requests, each answered: begin, inflict,
heal, report. The process ends when the control socket is closed.

Invariant: its own delay is measured for every packet, and included in every report.
"""

from __future__ import annotations

import gc
import os
import select
import socket
import sys
import time
from random import Random

from ipmicra.lab.box.kernel.priority import in_real_time
from ipmicra.lab.box.network.forwarding import Forwarding
from ipmicra.lab.box.network.lateness import Lateness
from ipmicra.lab.box.network.plan import NetworkPlan
from ipmicra.lab.box.processes.control_channel import (
    ROUTER_PRIORITY,
    Channel,
    RouterReport,
    RouterRequest,
    Sent,
)

PACKET_BYTES_MAX = 65_536
READS_AT_ONCE = 64  # of one wire, before the others and the departures get their turn
IDLE_S = 1.0


class Router:
    """One loop: read what came, write what is due, sleep until the next."""

    def __init__(self, tuns: list[int], channel: Channel, plan: NetworkPlan, real_time: bool) -> None:
        self._tuns, self._channel, self._plan, self._real_time = tuns, channel, plan, real_time
        self._wires = {tun: wire for wire, tun in enumerate(tuns)}
        self._forwarding = Forwarding(plan, Random(plan.seed))  # noqa: S311 - repeatable, not secret
        self._late, self._away = Lateness(), Lateness()
        self._full = 0

    def run(self) -> None:
        watched = [*self._tuns, self._channel.fileno()]
        clock = time.monotonic
        while True:
            ready, _, _ = select.select(watched, [], [], self._sleep_s())
            woken_s = clock()
            for descriptor in ready:
                if descriptor in self._wires:
                    self._read(descriptor)
                elif not self._obey():
                    return
            self._write()
            self._away.record(clock() - woken_s)

    def _sleep_s(self) -> float:
        due_s = self._forwarding.next_due_s()
        return IDLE_S if due_s is None else max(0.0, due_s - time.monotonic())

    def _read(self, tun: int) -> None:
        wire, on_packet, clock, read = (
            self._wires[tun],
            self._forwarding.on_packet,
            time.monotonic,
            os.read,
        )
        for _ in range(READS_AT_ONCE):
            try:
                packet = read(tun, PACKET_BYTES_MAX)
            except BlockingIOError:
                return
            on_packet(wire, packet, clock())

    def _write(self) -> None:
        tuns, record, clock, write = self._tuns, self._late.record, time.monotonic, os.write
        for departure in self._forwarding.departures(clock()):
            try:
                write(tuns[departure.path.wire], departure.packet)
            except OSError:
                self._full += 1
            record(clock() - departure.due_s)

    def _obey(self) -> bool:
        """Answer one request; False: the other side is gone."""
        ask = self._channel.received(RouterRequest)
        if ask is None:
            return False
        now_s = time.monotonic()
        if ask.begin:
            self._forwarding.begin(now_s)
        if ask.heal:
            self._forwarding.heal(now_s)
        for fault in ask.faults:
            self._forwarding.inflict(fault, now_s)
        self._channel.send(self.report())
        return True

    def report(self) -> RouterReport:
        carried = self._forwarding.paths.carried
        names = [end.name for end in self._plan.endpoints]
        return RouterReport(
            late=self._late,
            away=self._away,
            dropped={**self._forwarding.dropped, "full": self._full},
            sent=[
                Sent(names[one], names[other], count.packets, count.packet_bytes)
                for (one, other), count in carried.items()
            ],
            real_time=self._real_time,
            cpu_s=time.process_time(),
        )


def main(arguments: list[str]) -> int:
    control, *tuns = (int(text) for text in arguments)
    with socket.socket(fileno=control) as plug:
        channel = Channel(plug)
        plan = channel.received(NetworkPlan)
        if plan is None:
            return 1
        router = Router(tuns, channel, plan, in_real_time(ROUTER_PRIORITY))
        gc.collect()
        gc.freeze()
        gc.disable()  # a packet leaves no cycles behind
        channel.send(router.report())
        router.run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
