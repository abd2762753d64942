"""A sandbox specification -> code running in a sandbox, with its broker, control channel, resource
monitor and log.

Invariant: everything opened here is closed here, however the code ends; after that no connection of the
code is open.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from ipmicra.crawler.crawl import allowed_fetching
from ipmicra.host.broker.broker import Broker
from ipmicra.host.limits.usage import UsageMeter
from ipmicra.host.sandbox.control_channel import ControlChannel, SandboxExited
from ipmicra.host.sandbox.guards.seccomp_notify import TRIES_MAX, SeccompNotifications
from ipmicra.host.sandbox.guards.syscalls import names_by_number
from ipmicra.host.sandbox.launch import Sandbox, required, start
from ipmicra.host.sandbox.monitor.output_reader import OutputReader
from ipmicra.host.sandbox.monitor.resource_monitor import ResourceMonitor
from ipmicra.host.sandbox.monitor.throttled_log import ThrottledLog
from ipmicra.host.sandbox.plain_process import start_plain
from ipmicra.host.sandbox.spec import SandboxSpec
from ipmicra.host.settings import HostingSettings
from ipmicra.net.dns_resolver import Resolver
from ipmicra.probing.passive import PassiveRoundTrips
from ipmicra.protocol.guest_messages import GuestCommand, StatusUpdate


@dataclass(frozen=True)
class SessionDependencies:
    """The parts of the host that a session needs."""

    settings: HostingSettings
    meter: UsageMeter
    resolver: Resolver
    passive: PassiveRoundTrips | None  # receives what the kernel measures
    blocked_reason: Callable[[], str | None]
    log: ThrottledLog
    on_status: Callable[[StatusUpdate], None]


class SandboxSession:
    """One run of the code. `open` it; it `has_ended` when the code has exited or was killed; `close`
    it.
    """

    def __init__(self, spec: SandboxSpec, dependencies: SessionDependencies) -> None:
        self.ended = asyncio.Event()
        self.ended_why = ""
        self._spec, self._dependencies = spec, dependencies
        self._channel = ControlChannel(self._on_status, self._on_end)

    async def open(self) -> None:
        """Raises HostFault if no sandbox can be made here."""
        dependencies, spec = self._dependencies, self._spec
        self._sandbox: Sandbox = await start(spec) if spec.is_confined else start_plain(spec)
        self._broker = Broker(
            self._sandbox.broker,
            dependencies.settings.host,
            allowed_fetching(dependencies.settings.crawler, dependencies.settings.fetching),
            dependencies.meter,
            dependencies.resolver,
            dependencies.blocked_reason,
            dependencies.log,
            dependencies.passive,
        )
        self._broker.open()
        self.monitor = ResourceMonitor(
            self._sandbox,
            spec.state,
            spec.limits,
            dependencies.meter,
            self._check,
            self._abort,
            dependencies.settings.host.silent_seconds_max,
        )
        self._watching = asyncio.create_task(self.monitor.watch())
        self._output = OutputReader(self._sandbox.output, dependencies.log)
        self._notifications: SeccompNotifications | None = None
        if self._sandbox.listener is not None:
            names = names_by_number(required()[1])
            self._notifications = SeccompNotifications(
                self._sandbox.listener, names, dependencies.log, self._on_too_many_denials
            )
        await self._channel.open(self._sandbox.control)

    @property
    def pid(self) -> int:
        """The code's process."""
        return self._sandbox.pid

    @property
    def silent_seconds(self) -> float:
        """For how long the code has not answered, though it could."""
        return self.monitor.silent_seconds

    @property
    def has_ended(self) -> bool:
        return self.ended.is_set()

    def post(self, command: GuestCommand) -> None:
        self._channel.post(command)

    async def request(self, command: GuestCommand, seconds_max: float) -> str:
        """Raises SandboxExited, after killing code that does not answer."""
        with self.monitor.thawed():
            try:
                return await self._channel.request(command, seconds_max)
            except SandboxExited as gone:
                self._abort(str(gone))
                raise

    def pause(self) -> None:
        """Close all connections and freeze the process, except while it answers a request."""
        self.monitor.is_paused = True
        self._broker.close_connections()
        self.monitor.check()

    def resume(self) -> None:
        self.monitor.is_paused = False
        self.monitor.check()

    async def close(self) -> None:
        self._sandbox.kill()
        self._watching.cancel()
        await asyncio.wait([self._watching])
        await self._channel.close()
        await self._broker.close()
        self._output.close()
        if self._notifications is not None:
            self._notifications.close()
        self._sandbox.close()

    def _on_status(self, status: StatusUpdate) -> None:
        self.monitor.on_status()
        self._dependencies.on_status(status)

    def _check(self) -> None:
        self._broker.connections.count()
        if self._sandbox.has_ended:
            self._on_end(f"the crawler's code has exited, with code {self._sandbox.process.returncode}")

    def _on_too_many_denials(self) -> None:
        self._abort(f"the crawler's code tried forbidden calls {TRIES_MAX:,} times")

    def _abort(self, why: str) -> None:
        """Kill the code, for a reason that is logged."""
        if not self.ended.is_set():
            self._dependencies.log.add(f"{why}: ended")
            self._on_end(why)

    def _on_end(self, why: str) -> None:
        if not self.ended.is_set():
            self.ended_why = why
            self.ended.set()
            self._sandbox.kill()
            self._broker.close_connections()
