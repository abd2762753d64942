"""A plan -> code running in a sandbox with all that belongs to it: broker, conversation, warden, log.

Law: what is opened here is closed here, whichever way the code ends; and when the code ends, no connection
of its is left open.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from ipmicra.crawler.crawl import allowed_fetching
from ipmicra.host.broker.broker import Broker
from ipmicra.host.limits.usage import UsageMeter
from ipmicra.host.sandbox.control_channel import ControlChannel, SandboxExited
from ipmicra.host.sandbox.launch import Sandbox, required, start
from ipmicra.host.sandbox.output_reader import OutputReader
from ipmicra.host.sandbox.resource_monitor import ResourceMonitor
from ipmicra.host.sandbox.seccomp_notify import TRIES_MAX, SeccompNotifications
from ipmicra.host.sandbox.spec import SandboxSpec
from ipmicra.host.sandbox.syscalls import names_by_number
from ipmicra.host.sandbox.throttled_log import ThrottledLog
from ipmicra.host.settings import HostingSettings
from ipmicra.net.dns_resolver import Resolver
from ipmicra.probing.passive import PassiveRoundTrips
from ipmicra.protocol.guest_messages import GuestCommand, StatusUpdate


@dataclass(frozen=True)
class SessionDependencies:
    """What of the dock a berth is tied to."""

    settings: HostingSettings
    meter: UsageMeter
    resolver: Resolver
    passive: PassiveRoundTrips | None  # told what the kernel measures
    reason_to_rest: Callable[[], str | None]
    remarks: ThrottledLog
    on_news: Callable[[StatusUpdate], None]


class SandboxSession:
    """One run of the code. `open` it; it `has_ended` when the code has, or was ended; `close` it."""

    def __init__(self, plan: SandboxSpec, shore: SessionDependencies) -> None:
        self.ended = asyncio.Event()
        self.ended_why = ""
        self._plan, self._shore = plan, shore
        self._conversation = ControlChannel(shore.on_news, self._end)

    async def open(self) -> None:
        """Raises HostFault where no sandbox can be made here."""
        shore, plan = self._shore, self._plan
        self._sandbox: Sandbox = await start(plan)
        self._broker = Broker(
            self._sandbox.broker,
            shore.settings.host,
            allowed_fetching(shore.settings.crawler, shore.settings.fetching),
            shore.meter,
            shore.resolver,
            shore.reason_to_rest,
            shore.remarks,
            shore.passive,
        )
        self._broker.open()
        self.warden = ResourceMonitor(
            self._sandbox, plan.state, plan.limits, shore.meter, self._look, self._break
        )
        self._watching = asyncio.create_task(self.warden.watch())
        self._words = OutputReader(self._sandbox.words, shore.remarks)
        self._reports: SeccompNotifications | None = None
        if self._sandbox.listener is not None:
            names = names_by_number(required()[1])
            self._reports = SeccompNotifications(
                self._sandbox.listener, names, shore.remarks, self._gave_no_rest
            )
        await self._conversation.begin(self._sandbox.control)

    @property
    def pid(self) -> int:
        """The code's process."""
        return self._sandbox.pid

    @property
    def has_ended(self) -> bool:
        return self.ended.is_set()

    def post(self, order: GuestCommand) -> None:
        self._conversation.post(order)

    async def ask(self, order: GuestCommand, seconds_max: float) -> str:
        """Raises CodeIsGone, after ending code that does not answer."""
        with self.warden.awake():
            try:
                return await self._conversation.ask(order, seconds_max)
            except SandboxExited as gone:
                self._break(str(gone))
                raise

    def rest(self) -> None:
        """No connection is left, and the code does not run but to answer the dock."""
        self.warden.resting = True
        self._broker.cut_all()
        self.warden.look()

    def work(self) -> None:
        self.warden.resting = False
        self.warden.look()

    async def close(self) -> None:
        self._sandbox.kill()
        self._watching.cancel()
        await asyncio.wait([self._watching])
        await self._conversation.end()
        await self._broker.close()
        self._words.close()
        if self._reports is not None:
            self._reports.close()
        self._sandbox.close()

    def _look(self) -> None:
        self._broker.accounts.count()
        if self._sandbox.has_ended:
            self._end(f"the crawler's code has ended, with code {self._sandbox.process.returncode}")

    def _gave_no_rest(self) -> None:
        self._break(f"the crawler's code tried {TRIES_MAX:,} times what is not permitted")

    def _break(self, why: str) -> None:
        """Ended by us, for a reason that is written down."""
        if not self.ended.is_set():
            self._shore.remarks.add(f"{why}: ended")
            self._end(why)

    def _end(self, why: str) -> None:
        if not self.ended.is_set():
            self.ended_why = why
            self.ended.set()
            self._sandbox.kill()
            self._broker.cut_all()
