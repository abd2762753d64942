"""A host that has joined -> a running daemon: orders executed, work within the owner's rules,
packages sent.

Four concurrent loops: *poll* (orders), *report* (heartbeats), *deliver* (packages) and *work* (is the
crawler allowed to run?). Invariant: the owner's rules are checked before anything starts, from the
host's own copy. Without a coordinator, everything but polling and delivery continues. All state is in
the store, the frontier and the spool, so the process may be killed at any moment.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from random import Random
from typing import TypeVar

from ipmicra import __version__
from ipmicra.errors import HostFault
from ipmicra.host import folder as folders
from ipmicra.host.code.updater import CodeUpdater
from ipmicra.host.coordinator_client import (
    Backoff,
    CoordinatorConnection,
    CoordinatorUnavailable,
    HostRevoked,
    RequestRefused,
)
from ipmicra.host.delivery import deliver
from ipmicra.host.hosted.in_process import InProcessCrawler
from ipmicra.host.hosted.interface import STATE_FOLDER, HostedCrawler
from ipmicra.host.hosted.sandboxed import SandboxedCrawler
from ipmicra.host.identity import read_key
from ipmicra.host.limits.admission import DRAIN_SECONDS
from ipmicra.host.limits.owner_rules import OwnerRules
from ipmicra.host.order_executor import OrderExecutor
from ipmicra.host.sandbox.code import Code
from ipmicra.host.settings import HostingSettings, describe_rules
from ipmicra.host.store import HostStore
from ipmicra.model.ids import LeaseEpoch
from ipmicra.model.struct_types import build_struct_types
from ipmicra.model.urls import Site
from ipmicra.protocol.host_messages import (
    ORDER_KINDS,
    PROTOCOL,
    CodeReport,
    Heartbeat,
    OrderDone,
    Orders,
    encode_missing_times,
)

TICK_SECONDS = 0.5
POLL_SECONDS = 45.0
HEARTBEAT_SECONDS_MAX = 30.0
AT_ONCE = 500  # orders and round trips in one report


T = TypeVar("T")


class ExitReason(StrEnum):
    """Why the daemon has stopped."""

    STOPPED = "stopped"
    RETIRED = "retired"
    DISMISSED = "dismissed"


class HostDaemon:
    """One host from start to stop. `run` it once; `stop` it from a signal handler."""

    def __init__(
        self,
        folder: Path,
        settings: HostingSettings,
        store: HostStore,
        dice: Random,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        reload: Callable[[], HostingSettings] | None = None,
        code: Code | None = None,
        updater: CodeUpdater | None = None,
    ) -> None:
        """With `code` the crawler runs in a sandbox; without, in this process.

        With `updater` the coordinator may send other code for the sandbox.
        """
        self._folder, self._store, self._dice = folder, store, dice
        self._rules = OwnerRules(folder, settings, store, clock, reload)
        self._meter = meter = self._rules.meter
        member, key = folders.membership(store), read_key(folder)
        source = settings.fetching.source_address
        self._connection = connection = CoordinatorConnection(
            member.coordinator, member.host, key, store, meter, source
        )
        self._updater = updater
        self._crawler = self._make_crawler(member.host, code)
        reason = self._rules.start_blocked_reason
        upgrade = None if updater is None else updater.upgrade
        self._orders = OrderExecutor(store, self._crawler, connection, meter, reason, upgrade)
        self._heartbeat_seconds = HEARTBEAT_SECONDS_MAX
        self._exit_reason: ExitReason | None = None
        self._stopping = asyncio.Event()
        self._published_reason: str | None = ""
        self._published_figures: dict[str, int] = {}

    def _make_crawler(self, name: str, code: Code | None) -> HostedCrawler:
        rules, meter, store = self._rules, self._meter, self._store
        if code is None:
            return InProcessCrawler(self._folder / STATE_FOLDER, name, rules.settings, meter)
        if self._updater is not None:
            code = self._updater.code()
        crawler = SandboxedCrawler(
            self._folder, name, rules.settings, meter, code, rules.blocked_reason, store.log_event
        )
        if self._updater is not None:
            self._updater.attach(crawler)
        return crawler

    def stop(self, exit_reason: ExitReason = ExitReason.STOPPED) -> None:
        """Stop the daemon. Work in progress gets a short time to finish; all state is kept."""
        self._exit_reason = self._exit_reason or exit_reason
        self._stopping.set()

    async def run(self) -> ExitReason:
        """Run until stopped, retired or revoked. Raises HostFault if the machine fails, for example a
        full disk.
        """
        build_struct_types()
        try:
            await self._run_loops()
        except (OSError, sqlite3.OperationalError, ExceptionGroup) as error:
            causes = list(_causes(error))
            if not all(isinstance(cause, OSError | sqlite3.OperationalError) for cause in causes):
                raise
            why = "; ".join(dict.fromkeys(map(str, causes)))
            raise HostFault(
                f"running the host in {self._folder}: {why}; nothing is lost: fix this, and start "
                "it again"
            ) from error
        return self._exit_reason or ExitReason.STOPPED

    async def _run_loops(self) -> None:
        await self._restore_sites()
        loops = [self._poll_orders, self._report, self._deliver, self._work]
        if self._updater is not None:
            loops.append(self._updater.watch)
        try:
            async with self._connection, asyncio.TaskGroup() as group:
                tasks = [group.create_task(loop()) for loop in loops]
                await self._stopping.wait()
                for task in tasks:
                    task.cancel()
        finally:
            try:
                await self._orders.close()
                await self._crawler.stop(
                    0 if self._exit_reason is ExitReason.DISMISSED else DRAIN_SECONDS
                )
                self._meter.flush()
            finally:
                await self._crawler.close()

    async def _restore_sites(self) -> None:
        """Add the assigned sites from the store, and finish a release that was interrupted."""
        for held in self._store.held_sites():
            self._crawler.add_site(held)
        for state in self._store.waiting_states():
            await self._crawler.forget_site(Site(state.site))

    # --- hear ---------------------------------------------------------------------------------------

    async def _poll_orders(self) -> None:
        """Poll without waiting at start and after a failed poll: orders already sent do not end a
        long poll, and only the response carries the lease time.
        """
        backoff, wait_seconds = Backoff(self._dice), 0.0
        async with asyncio.TaskGroup() as doing:
            while True:
                offered = await self._with_backoff(
                    backoff, partial(self._connection.poll_orders, wait_seconds)
                )
                wait_seconds = 0.0 if offered is None else POLL_SECONDS
                if offered is None:
                    continue
                message = offered.readable
                await self._on_orders(message)
                self._orders.refuse(offered.unknown)
                fresh = [order for order in message.orders if self._orders.is_new(order)]
                for order in fresh:
                    doing.create_task(self._orders.execute(order))
                    await asyncio.sleep(0)
                if (message.orders or offered.unknown) and not fresh:
                    await asyncio.sleep(
                        1
                    )  # we know them already, and the coordinator does not know yet that they are done

    async def _on_orders(self, message: Orders) -> None:
        self._store.set(heard_s=str(int(time.time())))
        self._heartbeat_seconds = min(HEARTBEAT_SECONDS_MAX, message.lease_s / 4)
        known = self._store.epoch()
        if known is None:
            self._store.begin_epoch(message.epoch, 1)
        elif message.epoch > known:
            await self._begin_epoch(message.epoch)

    async def _begin_epoch(self, epoch: LeaseEpoch) -> None:
        """The lease was lost: the sites belong to others now, and unsent packages are not accepted."""
        self._store.log_event(f"the lease was lost; epoch {epoch} begins without sites")
        await self._crawler.stop(0)
        await self._orders.forget_all_sites()
        await self._crawler.seal()
        self._store.begin_epoch(epoch, await self._crawler.next_package())

    async def _with_backoff(self, backoff: Backoff, ask: Callable[[], Awaitable[T]]) -> T | None:
        """The response; None after a failure and a delay. An unavailable coordinator is an ordinary
        event.
        """
        try:
            answer = await ask()
        except (CoordinatorUnavailable, RequestRefused) as error:
            self._store.set(line=str(error))
            await asyncio.sleep(backoff.next_delay_seconds())
            return None
        except HostRevoked as error:
            self._store.log_event(f"the coordinator has revoked this host: {error}")
            retired = self._store.get("retired") is not None
            self.stop(ExitReason.RETIRED if retired else ExitReason.DISMISSED)
            await asyncio.Event().wait()
            raise AssertionError from error
        backoff.reset()
        self._store.set(line="well")
        return answer

    # --- report -------------------------------------------------------------------------------------

    async def _report(self) -> None:
        backoff = Backoff(self._dice)
        while True:
            done = self._store.unreported(AT_ONCE)
            heartbeat = self._heartbeat(done)
            message = await self._with_backoff(backoff, partial(self._send_heartbeat, heartbeat))
            if message is None:
                continue
            self._store.mark_reported(done)
            if self._store.get("retired") is not None and not self._store.unreported(1):
                self.stop(ExitReason.RETIRED)
            try:
                async with asyncio.timeout(self._heartbeat_seconds):
                    await self._orders.reportable.wait()
            except TimeoutError:
                pass
            self._orders.reportable.clear()

    async def _send_heartbeat(self, heartbeat: Heartbeat) -> bool:
        await self._connection.send_heartbeat(heartbeat)
        return True

    def _heartbeat(self, done: list[OrderDone]) -> Heartbeat:
        host = self._rules.settings.host
        changes = host.working_hours().changes_at(self._rules.clock())
        reason = self._rules.blocked_reason()
        return Heartbeat(
            done=tuple(done),
            passive=encode_missing_times(
                self._connection.coordinator_protocol, self._meter.round_trips.drain(AT_ONCE)
            ),
            awake=reason is None,
            resting=reason or "",
            awake_until_ms=None if changes is None else int(changes.timestamp() * 1000),
            sites=len(self._crawler.held.addresses),
            pages=self._crawler.counts().pages,
            spooled_packages=len(self._crawler.waiting_packages()),
            bytes_today=self._meter.used_bytes()[0],
            capacity_bytes_a_day=host.bytes_per_day_max,
            position=host.coordinates(),
            own_sites=host.own_sites,
            rules=describe_rules(host),
            version=__version__,
            code=CodeReport() if self._updater is None else self._updater.report(),
            protocol=PROTOCOL,
            order_kinds=ORDER_KINDS,
        )

    # --- deliver ------------------------------------------------------------------------------------

    async def _deliver(self) -> None:
        backoff = Backoff(self._dice)
        while True:
            if not self._rules.may_deliver():
                await asyncio.sleep(TICK_SECONDS)
                continue
            sent = await self._with_backoff(
                backoff, lambda: deliver(self._crawler, self._store, self._connection)
            )
            if sent is False:
                await self._finish_retiring()
                await asyncio.sleep(TICK_SECONDS)

    async def _finish_retiring(self) -> None:
        """Everything is released and sent: report the order as done; that report is the last one."""
        number = self._store.get("retiring_order")
        if number is None or self._store.get("released_all") is None or self._crawler.is_working:
            return
        if not await self._crawler.seal() and not self._crawler.waiting_packages():
            self._store.record_order(OrderDone(number=int(number)))
            self._store.set(retired=self._store.get("retiring"))
            self._orders.reportable.set()

    # --- work ---------------------------------------------------------------------------------------

    async def _work(self) -> None:
        while True:
            self._meter.flush()
            if self._rules.refresh():
                self._crawler.settings = self._rules.settings
                self._crawler.drain()  # and start again with the new rules
            self._crawler.check()
            reason = self._rules.blocked_reason()
            if reason is not None:
                await self._crawler.stop(0)
            elif self._rules.ends_soon():
                self._crawler.drain()
            else:
                self._crawler.start()
            self._publish_status(reason)
            await asyncio.sleep(TICK_SECONDS)

    def _publish_status(self, reason: str | None) -> None:
        """Write what `host status` shows, and stop if the owner is leaving."""
        if self._store.get("leaving") is not None:
            self.stop()
        if reason != self._published_reason:
            self._published_reason = reason
            self._store.set(resting=reason)
            self._store.log_event("works" if reason is None else f"rests: {reason}")
            self._orders.reportable.set()
        counts = self._crawler.counts()
        figures = {
            "sites": len(self._crawler.held.addresses),
            "pages": counts.pages,
            "pending": counts.pending,
        }
        if figures != self._published_figures:
            self._published_figures = figures
            self._store.set(**{name: str(value) for name, value in figures.items()})


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The exceptions inside nested groups."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _causes(inner)
    else:
        yield error
