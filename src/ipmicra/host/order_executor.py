"""Orders of the coordinator -> executed, each once in effect, and the result of each in the store.

| order      | action                                                                             |
|------------|------------------------------------------------------------------------------------|
| probe      | measured now, or refused while the host is paused                                  |
| take       | state fetched and imported if there is one, site added, URLs queued                |
| own-sites  | the same                                                                           |
| look       | pages fetched once and described; refused while the host is paused                 |
| send-whole | base digests are deleted and the next visit is due, so pages are sent in full      |
| release    | stopped at once, state exported and sent, then forgotten                           |
| pause      | stored until resume                                                                |
| retire     | all sites released, all packages sent, then the host stops                         |
| upgrade    | fetched, verified and tried; refused if the owner allows only installed code       |
| (unknown)  | refused alone, with its kind; the other orders are executed                        |

Invariant: an order that was interrupted by a crash is executed again when it is sent again, with the same
result. An order is reported only when its effect is durable.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import assert_never

from ipmicra.crawler.frontier.state_check import check_state
from ipmicra.errors import Fault, HostFault
from ipmicra.host import site_state_file
from ipmicra.host.coordinator_client import (
    CoordinatorConnection,
    CoordinatorUnavailable,
    HostRevoked,
    RequestRefused,
)
from ipmicra.host.hosted.interface import HostedCrawler
from ipmicra.host.limits.usage import UsageMeter
from ipmicra.host.measuring.probe_service import ProbeService
from ipmicra.host.store import HeldSite, HostStore
from ipmicra.model.ids import SiteEpoch
from ipmicra.model.urls import Site
from ipmicra.protocol.host_messages import (
    AssignedSite,
    AssignOwnSites,
    AssignSites,
    ObservePages,
    Order,
    OrderDone,
    Pause,
    ProbeTargets,
    ReleaseSites,
    Resume,
    Retire,
    SendWhole,
    UnknownOrder,
    Upgrade,
)

OBSERVATIONS_AT_ONCE = 20


class OrderExecutor:
    """Executes orders. `reportable` is set when there is something new to report."""

    def __init__(
        self,
        store: HostStore,
        crawler: HostedCrawler,
        connection: CoordinatorConnection,
        meter: UsageMeter,
        blocked_reason: Callable[[], str | None],
        upgrade: Callable[[str], Awaitable[str]] | None = None,
    ) -> None:
        self.reportable = asyncio.Event()
        self._store, self._crawler = store, crawler
        self._connection, self._blocked_reason = connection, blocked_reason
        self._upgrade = upgrade
        self._under_way: set[int] = set()
        self._probes = ProbeService(lambda: crawler.settings, meter, crawler.passive, blocked_reason)

    async def close(self) -> None:
        await self._probes.close()

    def is_new(self, order: Order) -> bool:
        return order.number not in self._under_way and not self._store.is_done(order.number)

    def refuse(self, unknown: Iterable[UnknownOrder]) -> None:
        """Report orders that this version cannot read, each once."""
        for order in unknown:
            if not self._store.is_done(order.number):
                self._store.log_event(f"order {order.number} ({order.kind or '?'}) refused: {order.why}")
                self._store.record_order(order.refusal())
                self.reportable.set()

    async def execute(self, order: Order) -> None:
        """Execute an order and record it as done. An order that needs the coordinator while it is
        unavailable stays open.
        """
        self._under_way.add(order.number)
        try:
            done = await self._execute(order)
        except (CoordinatorUnavailable, HostRevoked) as error:
            self._store.log_event(f"order {order.number} waits: {error}")
            await asyncio.sleep(1)
            return
        finally:
            self._under_way.discard(order.number)
        if done is not None:
            self._store.record_order(done)
            self.reportable.set()

    async def _execute(self, order: Order) -> OrderDone | None:
        match order.body:
            case ProbeTargets():
                return await self._probe(order.number, order.body)
            case AssignSites(grants=grants) | AssignOwnSites(sites=grants):
                for grant in grants:
                    await self._add_site(grant)
            case ReleaseSites(sites=sites):
                for site, epoch in sites:
                    await self.release_site(Site(site), epoch)
                await self.send_states()
            case ObservePages(urls=urls):
                return await self._observe_pages(order.number, urls)
            case SendWhole(urls=urls):
                return await self._send_whole(order.number, urls)
            case Pause(reason=reason):
                self._store.set(paused_by_coordinator=reason)
            case Resume():
                self._store.set(paused_by_coordinator=None)
            case Retire(reason=reason):
                await self._retire(order.number, reason)
                return None
            case Upgrade(version=version):
                refusal = await self._try_upgrade(version)
                return OrderDone(number=order.number, done=not refusal, detail=refusal)
            case never:
                assert_never(never)
        return OrderDone(number=order.number)

    async def _try_upgrade(self, version: str) -> str:
        """The reason why not; empty if the version is being tried."""
        if self._upgrade is None:
            return f"no upgrade to {version}: this host runs only code that its owner installs"
        try:
            return await self._upgrade(version)
        except HostFault as fault:  # the coordinator is unavailable, or sent an incomplete file
            raise CoordinatorUnavailable(str(fault)) from fault

    # --- probes -------------------------------------------------------------------------------------

    async def _probe(self, number: int, body: ProbeTargets) -> OrderDone:
        reason = self._blocked_reason()
        if reason is not None:
            return OrderDone(number=number, done=False, detail=reason)
        return OrderDone(number=number, probes=await self._probes.run(body.targets))

    async def _observe_pages(self, number: int, urls: tuple[str, ...]) -> OrderDone:
        reason = self._blocked_reason()
        if reason is not None:
            return OrderDone(number=number, done=False, detail=reason)
        try:
            observations = [await self._crawler.observe(url) for url in urls[:OBSERVATIONS_AT_ONCE]]
        except Fault as fault:
            return OrderDone(number=number, done=False, detail=str(fault))
        return OrderDone(number=number, looks=tuple(observations))

    async def _send_whole(self, number: int, urls: tuple[str, ...]) -> OrderDone:
        try:
            await self._crawler.force_full_resend(urls)
        except Fault as fault:
            return OrderDone(number=number, done=False, detail=str(fault))
        return OrderDone(number=number)

    # --- sites --------------------------------------------------------------------------------------

    async def _add_site(self, grant: AssignedSite) -> None:
        site = Site(grant.site)
        held = HeldSite(site, grant.epoch, grant.address)
        if grant.has_state and site not in self._crawler.held.addresses:
            await self._import_state(site)
        if not self._store.add_site(held):
            self._store.log_event(f"{site} in epoch {grant.epoch} was released before: not added")
            return
        self._crawler.add_site(held)
        await self._crawler.enqueue(grant.links or (f"{site}/",))

    async def _import_state(self, site: Site) -> None:
        """Import the state of a site; if it cannot be fetched, the site is crawled from the start."""
        try:
            state = await self._connection.get_state(site)
            if state is not None:
                chunks = site_state_file.chunks_in(state)
                await asyncio.to_thread(check_state, chunks, site, time.time())
                await self._crawler.import_site(state)
                self._store.log_event(f"imported the state of {site}: {len(state):,} bytes")
        except (RequestRefused, Fault) as error:
            self._store.log_event(f"{site} is crawled from the start, without its state: {error}")

    async def release_site(self, site: Site, epoch: SiteEpoch) -> None:
        """Export, record, forget: in this order, so that each step may be repeated."""
        held = {held.site: held for held in self._store.held_sites()}.get(site)
        if held is None or held.epoch > epoch:
            return
        name = await self._crawler.export_site(site, held.epoch)
        self._store.release_site(site, held.epoch, name)
        await self._crawler.forget_site(site)

    async def send_states(self) -> None:
        """Send exported states. A state that the coordinator refuses is discarded."""
        for state in self._store.waiting_states():
            try:
                data = self._crawler.state_bytes(state.file)
                await self._connection.put_state(state.site, state.epoch, data)
            except RequestRefused as refused:
                self._store.log_event(f"the state of {state.site} is not accepted: {refused}")
            except FileNotFoundError:
                self._store.log_event(f"the state of {state.site} is missing: {state.file}")
            self._store.remove_state(state)
            self._crawler.remove_state(state.file)

    async def forget_all_sites(self) -> None:
        """The sites were assigned to others."""
        for held in self._store.held_sites():
            self._store.release_site(held.site, held.epoch, None)
            await self._crawler.forget_site(Site(held.site))

    # --- the end ------------------------------------------------------------------------------------

    async def _retire(self, number: int, reason: str) -> None:
        """Release all sites; then the daemon sends the packages, reports the order, and stops."""
        self._store.set(retiring=reason or "ordered by the coordinator", retiring_order=str(number))
        for held in self._store.held_sites():
            await self.release_site(Site(held.site), held.epoch)
        await self.send_states()
        self._store.set(released_all="yes")
