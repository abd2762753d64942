"""A BoxWorld -> the box: namespaces, wires and router, up while the context is open.

    with Box(world) as box:
        box.crawler("lima").start(["ping", "20.0.0.1"])
        box.believe(box.report())

Invariant: nothing is made in the machine's own network, nothing has a name outside, and nothing outlives this
process, however it ends.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from types import TracebackType
from typing import Self

from ipmicra.errors import HostFault
from ipmicra.lab.box.kernel import prerequisites
from ipmicra.lab.box.kernel.namespace import Namespace
from ipmicra.lab.box.kernel.syscalls import die_with
from ipmicra.lab.box.processes.control_channel import Channel, RouterReport, RouterRequest
from ipmicra.lab.box.trial.timing_check import TimingTolerance, check_on_time
from ipmicra.lab.box.world.box_world import BoxFault, BoxWorld
from ipmicra.lab.box.world.network_plan import fault_between, plan_of

SITES_KNOBS = {
    "net.ipv4.conf.all.rp_filter": "0",
    "net.ipv4.conf.wan.rp_filter": "0",
    "net.core.somaxconn": "8192",
    "net.ipv4.tcp_max_syn_backlog": "8192",
    "net.ipv4.icmp_ratelimit": "0",
    "net.ipv6.icmp.ratelimit": "0",
}
EVERYBODYS_KNOBS = {
    "net.ipv4.ping_group_range": "0 2147483647",
    "net.ipv4.tcp_no_metrics_save": "1",  # a new connection knows nothing of the one before
}


class NetworkBox:
    """The running box. One thread only: namespaces belong to threads."""

    def __init__(self, world: BoxWorld) -> None:
        self.world = world
        self.plan = plan_of(world)
        self.sites: Namespace
        self.coordinator: Namespace
        self._crawlers: dict[str, Namespace] = {}
        self._all: list[Namespace] = []
        self._router: subprocess.Popen[bytes] | None = None
        self._plug: socket.socket | None = None

    def __enter__(self) -> Self:
        prerequisites.check()
        try:
            self._make_namespaces()
            self._start_router()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def crawler(self, name: str) -> Namespace:
        return self._crawlers[name]

    @property
    def router_pid(self) -> int:
        assert self._router is not None, "the box is not open"
        return self._router.pid

    def begin(self) -> RouterReport:
        """The world's faults count from now."""
        return self._ask(RouterRequest(begin=True))

    def inflict(self, *faults: BoxFault) -> RouterReport:
        """Faults beyond the world's, their times counted from now."""
        found = tuple(fault_between(self.world, self.plan.endpoints, fault) for fault in faults)
        return self._ask(RouterRequest(faults=found))

    def heal(self) -> RouterReport:
        """No fault any more."""
        return self._ask(RouterRequest(heal=True))

    def report(self) -> RouterReport:
        return self._ask(RouterRequest())

    def check_on_time(
        self, since: RouterReport | None = None, patience: TimingTolerance | None = None
    ) -> RouterReport:
        """The report; raises Late where what was measured cannot be believed."""
        report = self.report()
        check_on_time(report, since, patience or TimingTolerance())
        return report

    def close(self) -> None:
        if self._plug is not None:
            self._plug.close()
            self._plug = None
        if self._router is not None:
            self._router.kill()
            self._router.wait()
            self._router = None
        for namespace in self._all:
            namespace.close()
        self._all.clear()

    def _make_namespaces(self) -> None:
        file = self.world.file
        self.sites = self._new("the sites")
        self.coordinator = self._new("the coordinator")
        strangers = list(file.coordinator.addresses)
        for crawler in file.crawlers:
            self._crawlers[crawler.name] = self._new(crawler.name)
            self._crawlers[crawler.name].own(crawler.addresses)
            strangers += crawler.addresses
        self.coordinator.own(file.coordinator.addresses)
        self.sites.set_kernel(SITES_KNOBS)
        self.sites.own_all_but(strangers, [file.names_address])

    def _new(self, name: str) -> Namespace:
        namespace = Namespace(name)
        self._all.append(namespace)
        namespace.set_kernel(EVERYBODYS_KNOBS)
        return namespace

    def _start_router(self) -> None:
        ours, its = socket.socketpair()
        self._plug = ours
        tuns = [namespace.tun for namespace in self._all]
        parent = os.getpid()
        line = [
            sys.executable,
            "-m",
            "ipmicra.lab.box.processes.router",
            *map(str, [its.fileno(), *tuns]),
        ]
        with its:
            self._router = subprocess.Popen(  # noqa: S603 - our own command
                line,
                stdin=subprocess.DEVNULL,
                pass_fds=[its.fileno(), *tuns],
                preexec_fn=lambda: die_with(parent),
            )
        for namespace in self._all:
            namespace.hand_over_tun()
        Channel(ours).send(self.plan)
        self._answer()

    def _ask(self, ask: RouterRequest) -> RouterReport:
        assert self._plug is not None, "the box is not open"
        Channel(self._plug).send(ask)
        return self._answer()

    def _answer(self) -> RouterReport:
        assert self._plug is not None, "the box is not open"
        report = Channel(self._plug).received(RouterReport)
        if report is None:
            raise HostFault("the box's router has died; its last words are on stderr")
        return report
