"""The sites of a host -> a crawler at work on them in a sandbox, which the host does not trust.

The code is started when it is first needed, and again after it has exited, with growing pauses.
Invariant: nothing that it writes or sends is trusted beyond its type and size; while the host is paused
it does not run.
"""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from ipmicra.carrier.durable import make_folder
from ipmicra.carrier.package import PackageFile, packages_in
from ipmicra.crawler.crawl import parser_limits
from ipmicra.crawler.frontier import Counts
from ipmicra.errors import HostFault
from ipmicra.host import site_state_file
from ipmicra.host.hosted.guest.guest_config import encode_config, encode_settings
from ipmicra.host.hosted.in_process import SPOOL_FOLDER, PinnedResolver
from ipmicra.host.hosted.interface import STATE_FOLDER, HeldSites
from ipmicra.host.limits.usage import UsageMeter
from ipmicra.host.sandbox.code import Code
from ipmicra.host.sandbox.control_channel import SandboxExited
from ipmicra.host.sandbox.files import read_inside, remove_inside
from ipmicra.host.sandbox.monitor.throttled_log import ThrottledLog
from ipmicra.host.sandbox.session import SandboxSession, SessionDependencies
from ipmicra.host.sandbox.spec import SandboxLimits, SandboxSpec
from ipmicra.host.settings import HostingSettings
from ipmicra.host.store import HeldSite
from ipmicra.model.ids import SiteEpoch
from ipmicra.model.urls import Site
from ipmicra.net.dns_resolver import DnsResolver
from ipmicra.probing.passive import PassiveRoundTrips
from ipmicra.protocol import guest_messages
from ipmicra.protocol.foreign_bytes import UNREADABLE
from ipmicra.protocol.guest_messages import GuestCommand, StatusUpdate
from ipmicra.protocol.host_messages import PROTOCOL_WITHOUT_NONE, PageObservation, Passive

CONFIG_FILE = "brief.json"  # in the host's folder
REQUEST_SECONDS_MAX = 60.0
REQUEST_WHILE_PAUSED_SECONDS_MAX = (
    20.0  # so long, once, code runs while its host rests: to let a site go, say
)
STOP_SECONDS_MAX = 2.0  # in addition to the grace; then the code is killed
CHANGE_GRACE_SECONDS = 30.0  # there is no hurry; aborted fetches are repeated
TRIES = 3  # of a command, each with the code restarted
PAUSE_SECONDS_FIRST, PAUSE_SECONDS_MAX = 0.5, 60.0
FILE_BYTES_MAX = 256 << 20


class SandboxedCrawler:
    """A crawler in a sandbox. Create it in a running loop."""

    def __init__(
        self,
        folder: Path,
        name: str,
        settings: HostingSettings,
        meter: UsageMeter,
        code: Code,
        blocked_reason: Callable[[], str | None],
        note: Callable[[str], None],
    ) -> None:
        self.settings, self.held, self.code = settings, HeldSites(), code
        self.passive = PassiveRoundTrips(settings.probing)
        self.status = StatusUpdate()
        self.last_status_at, self.exits, self.last_exit = 0.0, 0, ""
        self._pages_at_first: int | None = None  # pages in the state when the present code started
        self._folder, self._name, self._meter = folder, name, meter
        self._state = folder / STATE_FOLDER
        make_folder(self._state)
        self._blocked_reason, self._log = blocked_reason, ThrottledLog(note)
        self._session: SandboxSession | None = None
        self._session_lock = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._pause_seconds, self._begun_at = 0.0, 0.0
        self._was_ended = False  # the code before, by itself or because it did not answer

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        if self._session is not None:
            await self._session.close()
            self._session = None

    # --- its work -----------------------------------------------------------------------------------

    @property
    def is_working(self) -> bool:
        return self._task is not None

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._run())

    async def stop(self, grace_seconds: float) -> None:
        if self._task is None:
            return
        session = self._session
        if session is not None and not session.has_ended:
            if session.silent_seconds > STOP_SECONDS_MAX:
                grace_seconds = 0.0  # it hangs, and will use no grace
            try:
                command = guest_messages.Stop(grace_seconds)
                await session.request(command, grace_seconds + STOP_SECONDS_MAX)
            except HostFault as fault:
                self._log.add(f"the crawler did not stop in an orderly way: {fault}")
            session.pause()
        while (task := self._task) is not None:  # another may have been started meanwhile
            task.cancel()
            await asyncio.wait([task])
            self._collect(task)

    def drain(self) -> None:
        if self._task is not None and self._session is not None and not self._session.has_ended:
            self._session.post(guest_messages.Drain())

    def check(self) -> None:
        if self._task is not None and self._task.done():
            self._collect(self._task)

    def counts(self) -> Counts:
        return Counts(known=0, pending=self.status.pending, done=0, pages=self.status.pages, sites=0)

    @property
    def pages_by_code(self) -> int:
        """Fetched since the present code started."""
        return 0 if self._pages_at_first is None else self.status.pages - self._pages_at_first

    def _collect(self, task: asyncio.Task[None]) -> None:
        """Raises what the ended task has raised."""
        if self._task is task:
            self._task = None
        if not task.cancelled():
            task.result()

    async def _run(self) -> None:
        """Work until drained or until the code has exited."""
        session = await self._ensure_running()
        self.status = msgspec.structs.replace(self.status, ended="")
        session.resume()
        try:
            await session.request(
                guest_messages.Work(encode_settings(self.settings)), REQUEST_SECONDS_MAX
            )
        except SandboxExited:
            return
        self.status = msgspec.structs.replace(
            self.status, working=True
        )  # earlier status updates are outdated
        while self.status.working and not session.has_ended:
            await asyncio.sleep(0.1)
        if self.status.ended:
            self._log.add(f"the crawler's work has ended: {self.status.ended}")
            await asyncio.sleep(PAUSE_SECONDS_FIRST)

    # --- its process --------------------------------------------------------------------------------

    async def _ensure_running(self) -> SandboxSession:
        """The running session; started if there is none, after a pause if the code has just exited."""
        async with self._session_lock:
            if self._session is not None and not self._session.has_ended:
                return self._session
            if self._session is not None:
                ended, self._session = self._session, None
                await ended.close()
                self._was_ended = True
                self.exits, self.last_exit = self.exits + 1, ended.ended_why
                self._log.add(ended.ended_why)
                await asyncio.sleep(self._next_pause_seconds())
            session = SandboxSession(self._spec(), self._dependencies())
            self._pages_at_first = None
            await session.open()
            self._was_ended = False
            self._session, self._begun_at = session, time.monotonic()
            for site, address in self.held.addresses.items():
                session.post(guest_messages.AddSite(site, address))
            return session

    def _next_pause_seconds(self) -> float:
        """Longer each time that the code exits early."""
        lived = time.monotonic() - self._begun_at
        longer = max(PAUSE_SECONDS_FIRST, 2 * self._pause_seconds)
        self._pause_seconds = 0.0 if lived > PAUSE_SECONDS_MAX else min(longer, PAUSE_SECONDS_MAX)
        return self._pause_seconds

    def _spec(self) -> SandboxSpec:
        config_file = self._folder / CONFIG_FILE
        parsers = None if self.code.is_confined else parser_limits(self.settings.crawler)
        config_file.write_bytes(encode_config(self._name, self.settings, self._was_ended, parsers))
        config_file.chmod(0o644)
        authorities = self.settings.fetching.authorities_file
        return SandboxSpec(
            code=self.code.folder,
            program=self.code.program,
            state=self._state,
            settings=config_file,
            limits=SandboxLimits.of(self.settings.host),
            guards=self.code.guards,
            is_confined=self.code.is_confined,
            readable=(Path(authorities).expanduser(),) if authorities else (),
        )

    def _dependencies(self) -> SessionDependencies:
        resolver = PinnedResolver(DnsResolver(self.settings.fetching.dns_servers), self.held)
        return SessionDependencies(
            self.settings,
            self._meter,
            resolver,
            None if self.settings.probing.by_answers else self.passive,
            self._blocked_reason,
            self._log,
            self._on_status,
        )

    def _on_status(self, status: StatusUpdate) -> None:
        self.last_status_at = time.monotonic()
        if self._pages_at_first is None:
            self._pages_at_first = status.pages
        self._meter.round_trips.add(status.measured)
        if self.settings.probing.by_answers:
            self._record_round_trips(status.measured)
        self.status = msgspec.structs.replace(status, measured=())

    def _record_round_trips(self, measured: Iterable[Passive]) -> None:
        """Record round trips reported by the code. Otherwise the broker reads them from the kernel."""
        for passive in measured:
            if passive.round_trip_ms is None:
                continue
            with suppress(ValueError):
                self.passive.record(ipaddress.ip_address(passive.address), passive.round_trip_ms)

    async def change_code(self, code: Code) -> None:
        """Run other code on the same state from now on: stop the present code in an orderly way, then
        start the new one.
        """
        was_working = self.is_working
        async with self._session_lock:  # a concurrent start waits for the new code
            await self.stop(CHANGE_GRACE_SECONDS)
            ended, self._session, self.code = self._session, None, code
            if ended is not None:
                await ended.close()
        if was_working:
            self.start()

    async def _request(self, command: GuestCommand) -> str:
        """Raises SandboxExited if the code exited at every try."""
        for left in reversed(range(TRIES)):
            session = await self._ensure_running()
            paused = self._blocked_reason() is not None
            try:
                return await session.request(
                    command, REQUEST_WHILE_PAUSED_SECONDS_MAX if paused else REQUEST_SECONDS_MAX
                )
            except SandboxExited:
                if paused or not left:
                    raise
        raise AssertionError("the last try returns or raises")

    # --- its sites ----------------------------------------------------------------------------------

    def add_site(self, held: HeldSite) -> None:
        self.held.addresses[Site(held.site)] = held.address
        if self._session is not None and not self._session.has_ended:
            self._session.post(guest_messages.AddSite(held.site, held.address))

    async def enqueue(self, urls: Iterable[str]) -> None:
        await self._request(guest_messages.EnqueueUrls(tuple(urls)))

    async def force_full_resend(self, urls: Iterable[str]) -> None:
        await self._request(
            guest_messages.NextPackage()
        )  # the code's first news, with its protocol, come before
        if self.status.protocol <= PROTOCOL_WITHOUT_NONE:
            raise HostFault("the crawler's code is too old to send pages whole on demand")
        await self._request(guest_messages.ResendPages(tuple(urls)))

    async def import_site(self, state: bytes) -> Site:
        return Site(await self._request(guest_messages.ImportSite(state)))

    async def export_site(self, site: Site, epoch: SiteEpoch) -> str | None:
        name = await self._request(guest_messages.ExportSite(site, epoch)) or None
        self.held.addresses.pop(site, None)
        return name

    async def forget_site(self, site: Site) -> None:
        self.held.addresses.pop(site, None)
        await self._request(guest_messages.ForgetSite(site))

    async def observe(self, url: str) -> PageObservation:
        answer = await self._request(guest_messages.ObservePage(url))
        try:
            return msgspec.json.decode(answer, type=PageObservation)
        except UNREADABLE as error:
            raise HostFault(f"the crawler's code sent no page observation for {url}: {error}") from error

    # --- its files ----------------------------------------------------------------------------------

    def state_bytes(self, name: str) -> bytes:
        return read_inside(self._state, site_state_file.FOLDER, name, FILE_BYTES_MAX)

    def remove_state(self, name: str) -> None:
        remove_inside(self._state, site_state_file.FOLDER, name)

    async def seal(self) -> bool:
        return bool(await self._request(guest_messages.SealPackages()))

    async def next_package(self) -> int:
        answer = await self._request(guest_messages.NextPackage())
        if not answer.isdecimal():
            raise HostFault(f"the crawler's code says that its next package is {answer[:20]!r}")
        return int(answer)

    def waiting_packages(self) -> list[PackageFile]:
        return packages_in(self._state / SPOOL_FOLDER)

    def package_bytes(self, package: PackageFile) -> bytes:
        return read_inside(self._state, SPOOL_FOLDER, package.path.name, FILE_BYTES_MAX)

    def acknowledge(self, package: PackageFile) -> None:
        remove_inside(self._state, SPOOL_FOLDER, package.path.name)
