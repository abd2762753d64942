"""The sites a host holds -> a crawler at work on them in a sandbox: a tenant that the dock need not trust.

The code is started when it is first needed, and again when it has ended, ever more slowly. Law: no byte
that it wrote or said is believed further than its type and size; when the host rests it does not run.
"""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from ipmicra.carrier.package import PackageFile, packages_in
from ipmicra.crawler.frontier import Counts
from ipmicra.errors import HostFault
from ipmicra.host import site_state_file
from ipmicra.host.hosted.guest.guest_config import written_config, written_settings
from ipmicra.host.hosted.in_process import SPOOL_FOLDER, PinnedResolver
from ipmicra.host.hosted.interface import STATE_FOLDER, HeldSites
from ipmicra.host.limits.usage import UsageMeter
from ipmicra.host.sandbox.code import Code
from ipmicra.host.sandbox.control_channel import SandboxExited
from ipmicra.host.sandbox.files import read_inside, remove_inside
from ipmicra.host.sandbox.session import SandboxSession, SessionDependencies
from ipmicra.host.sandbox.spec import SandboxLimits, SandboxSpec
from ipmicra.host.sandbox.throttled_log import ThrottledLog
from ipmicra.host.settings import HostingSettings
from ipmicra.host.store import HeldSite
from ipmicra.model.ids import SiteEpoch
from ipmicra.model.urls import Site
from ipmicra.net.dns_resolver import DnsResolver
from ipmicra.probing.passive import PassiveRoundTrips
from ipmicra.protocol import guest_messages
from ipmicra.protocol.guest_messages import GuestCommand, StatusUpdate
from ipmicra.protocol.host_messages import PROTOCOL_WITHOUT_NONE, PageObservation, Passive

BRIEF_FILE = "brief.json"  # in the host's folder
ASK_SECONDS_MAX = 60.0
ASK_AT_REST_SECONDS_MAX = 20.0  # so long, once, code runs while its host rests: to let a site go, say
STOP_SECONDS_MAX = 2.0  # beyond the grace; then the code is ended
CHANGE_GRACE_SECONDS = 30.0  # there is no hurry, and what is broken off is fetched again
TRIES = 3  # of an order, each with the code started anew
PAUSE_SECONDS_FIRST, PAUSE_SECONDS_MAX = 0.5, 60.0
FILE_BYTES_MAX = 256 << 20


class SandboxedCrawler:
    """A tenant in a sandbox. Made in a running loop."""

    def __init__(
        self,
        folder: Path,
        name: str,
        settings: HostingSettings,
        meter: UsageMeter,
        code: Code,
        reason_to_rest: Callable[[], str | None],
        note: Callable[[str], None],
    ) -> None:
        self.settings, self.held, self.code = settings, HeldSites(), code
        self.passive = PassiveRoundTrips(settings.probing)
        self.news = StatusUpdate()
        self.heard_at, self.ends, self.last_end = 0.0, 0, ""
        self._pages_at_first: int | None = None  # that the state held when the code in the berth began
        self._folder, self._name, self._meter = folder, name, meter
        self._state = folder / STATE_FOLDER
        self._state.mkdir(parents=True, exist_ok=True)
        self._reason_to_rest, self._remarks = reason_to_rest, ThrottledLog(note)
        self._berth: SandboxSession | None = None
        self._berthing = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._pause_seconds, self._begun_at = 0.0, 0.0

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        if self._berth is not None:
            await self._berth.close()
            self._berth = None

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
        berth = self._berth
        if berth is not None and not berth.has_ended:
            try:
                order = guest_messages.Stop(grace_seconds)
                await berth.ask(order, grace_seconds + STOP_SECONDS_MAX)
            except HostFault as fault:
                self._remarks.add(f"the crawler could not be stopped well: {fault}")
            berth.rest()
        self._task.cancel()
        await asyncio.wait([self._task])
        self._collect()

    def drain(self) -> None:
        if self._task is not None and self._berth is not None and not self._berth.has_ended:
            self._berth.post(guest_messages.Drain())

    def check(self) -> None:
        if self._task is not None and self._task.done():
            self._collect()

    def counts(self) -> Counts:
        return Counts(known=0, pending=self.news.pending, done=0, pages=self.news.pages, sites=0)

    @property
    def pages_by_code(self) -> int:
        """Fetched since the code that runs now began."""
        return 0 if self._pages_at_first is None else self.news.pages - self._pages_at_first

    def _collect(self) -> None:
        task, self._task = self._task, None
        if task is not None and not task.cancelled():
            task.result()

    async def _run(self) -> None:
        """Work, until it is drained or the code has ended."""
        berth = await self._berthed()
        self.news = msgspec.structs.replace(self.news, ended="")
        berth.work()
        try:
            await berth.ask(guest_messages.Work(written_settings(self.settings)), ASK_SECONDS_MAX)
        except SandboxExited:
            return
        self.news = msgspec.structs.replace(self.news, working=True)  # what was said before is older
        while self.news.working and not berth.has_ended:
            await asyncio.sleep(0.1)
        if self.news.ended:
            self._remarks.add(f"the crawler's work has ended: {self.news.ended}")
            await asyncio.sleep(PAUSE_SECONDS_FIRST)

    # --- its process --------------------------------------------------------------------------------

    async def _berthed(self) -> SandboxSession:
        """Where the code runs; begun if it does not, after a pause if it has just ended."""
        async with self._berthing:
            if self._berth is not None and not self._berth.has_ended:
                return self._berth
            if self._berth is not None:
                ended, self._berth = self._berth, None
                await ended.close()
                self.ends, self.last_end = self.ends + 1, ended.ended_why
                self._remarks.add(ended.ended_why)
                await asyncio.sleep(self._pause())
            berth = SandboxSession(self._plan(), self._shore())
            self._pages_at_first = None
            await berth.open()
            self._berth, self._begun_at = berth, time.monotonic()
            for site, address in self.held.addresses.items():
                berth.post(guest_messages.AddSite(site, address))
            return berth

    def _pause(self) -> float:
        """Longer each time that the code did not live long."""
        lived = time.monotonic() - self._begun_at
        longer = max(PAUSE_SECONDS_FIRST, 2 * self._pause_seconds)
        self._pause_seconds = 0.0 if lived > PAUSE_SECONDS_MAX else min(longer, PAUSE_SECONDS_MAX)
        return self._pause_seconds

    def _plan(self) -> SandboxSpec:
        brief = self._folder / BRIEF_FILE
        brief.write_bytes(written_config(self._name, self.settings))
        brief.chmod(0o644)
        authorities = self.settings.fetching.authorities_file
        return SandboxSpec(
            code=self.code.folder,
            program=self.code.program,
            state=self._state,
            settings=brief,
            limits=SandboxLimits.of(self.settings.host),
            guards=self.code.guards,
            readable=(Path(authorities).expanduser(),) if authorities else (),
        )

    def _shore(self) -> SessionDependencies:
        resolver = PinnedResolver(DnsResolver(self.settings.fetching.dns_servers), self.held)
        return SessionDependencies(
            self.settings,
            self._meter,
            resolver,
            None if self.settings.probing.by_answers else self.passive,
            self._reason_to_rest,
            self._remarks,
            self._hear,
        )

    def _hear(self, news: StatusUpdate) -> None:
        self.heard_at = time.monotonic()
        if self._pages_at_first is None:
            self._pages_at_first = news.pages
        self._meter.round_trips.tell(news.measured)
        if self.settings.probing.by_answers:
            self._learn(news.measured)
        self.news = msgspec.structs.replace(news, measured=())

    def _learn(self, measured: Iterable[Passive]) -> None:
        """As the code says; otherwise it is the kernel that says it, to the broker."""
        for passive in measured:
            if passive.round_trip_ms is None:
                continue
            with suppress(ValueError):
                self.passive.learn(ipaddress.ip_address(passive.address), passive.round_trip_ms)

    async def change_code(self, code: Code) -> None:
        """Run other code on the same state from now on: what works is stopped well, and begun anew."""
        was_working = self.is_working
        async with self._berthing:  # whoever starts meanwhile waits for the new code
            await self.stop(CHANGE_GRACE_SECONDS)
            ended, self._berth, self.code = self._berth, None, code
            if ended is not None:
                await ended.close()
        if was_working:
            self.start()

    async def _ask(self, order: GuestCommand) -> str:
        """Raises CodeIsGone when the code did not survive it, however often it was begun."""
        for left in reversed(range(TRIES)):
            berth = await self._berthed()
            resting = self._reason_to_rest() is not None
            try:
                return await berth.ask(order, ASK_AT_REST_SECONDS_MAX if resting else ASK_SECONDS_MAX)
            except SandboxExited:
                if resting or not left:
                    raise
        raise AssertionError("the last try returns or raises")

    # --- its sites ----------------------------------------------------------------------------------

    def hold(self, held: HeldSite) -> None:
        self.held.addresses[Site(held.site)] = held.address
        if self._berth is not None and not self._berth.has_ended:
            self._berth.post(guest_messages.AddSite(held.site, held.address))

    async def give(self, urls: Iterable[str]) -> None:
        await self._ask(guest_messages.EnqueueUrls(tuple(urls)))

    async def send_whole(self, urls: Iterable[str]) -> None:
        await self._ask(
            guest_messages.NextPackage()
        )  # the code's first news, with its protocol, come before
        if self.news.protocol <= PROTOCOL_WITHOUT_NONE:
            raise HostFault("the crawler's code is too old to send pages whole on demand")
        await self._ask(guest_messages.SendWhole(tuple(urls)))

    async def take_over(self, state: bytes) -> Site:
        return Site(await self._ask(guest_messages.ImportSite(state)))

    async def release(self, site: Site, epoch: SiteEpoch) -> str | None:
        name = await self._ask(guest_messages.ExportSite(site, epoch)) or None
        self.held.addresses.pop(site, None)
        return name

    async def forget(self, site: Site) -> None:
        self.held.addresses.pop(site, None)
        await self._ask(guest_messages.ForgetSite(site))

    async def look(self, url: str) -> PageObservation:
        answer = await self._ask(guest_messages.ObservePage(url))
        try:
            return msgspec.json.decode(answer, type=PageObservation)
        except msgspec.MsgspecError as error:
            raise HostFault(f"the crawler's code does not say how {url} looks: {error}") from error

    # --- its files ----------------------------------------------------------------------------------

    def state_bytes(self, name: str) -> bytes:
        return read_inside(self._state, site_state_file.FOLDER, name, FILE_BYTES_MAX)

    def remove_state(self, name: str) -> None:
        remove_inside(self._state, site_state_file.FOLDER, name)

    async def seal(self) -> bool:
        return bool(await self._ask(guest_messages.SealPackages()))

    async def next_package(self) -> int:
        answer = await self._ask(guest_messages.NextPackage())
        if not answer.isdecimal():
            raise HostFault(f"the crawler's code says that its next package is {answer[:20]!r}")
        return int(answer)

    def waiting(self) -> list[PackageFile]:
        return packages_in(self._state / SPOOL_FOLDER)

    def package_bytes(self, package: PackageFile) -> bytes:
        return read_inside(self._state, SPOOL_FOLDER, package.path.name, FILE_BYTES_MAX)

    def acknowledge(self, package: PackageFile) -> None:
        remove_inside(self._state, SPOOL_FOLDER, package.path.name)
