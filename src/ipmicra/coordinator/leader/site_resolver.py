"""Names of sites -> the addresses at which they may be probed and crawled, or the reason why there are
none; looked up in a thread of its own, while the leader goes on.

Invariant: the leader never waits for a name server: it begins look-ups and later takes those that have
ended. They are bounded in number and in time. Addresses that a host must not connect to are refused here
already, so that a submitted name that resolves to a private network cannot make hosts probe it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from typing import Protocol

from ipmicra.addresses import IPAddress
from ipmicra.crawler.fetching.settings import FetchingSettings
from ipmicra.model.urls import Site, name_of, port_of
from ipmicra.net.address_guard import AddressGuard
from ipmicra.net.dns_cache import DnsCache, DnsFailure
from ipmicra.net.dns_resolver import DnsResolver

ResolveResult = tuple[IPAddress, ...] | str  # addresses, or the reason why there are none

LOOKUPS_AT_ONCE_MAX = 500
LOOKUP_SECONDS_MAX = 5.0  # then the name counts as one without an address, until it is tried again


class SiteLookups(Protocol):
    """Look-ups of names that run while the leader does something else."""

    @property
    def capacity(self) -> int:
        """How many more may be begun now."""
        ...

    def begin(self, sites: Iterable[str]) -> None: ...

    def take_ended(self) -> dict[str, ResolveResult]:
        """Those that have ended since the last call."""
        ...


class SiteResolver:
    """Look-ups by the machine's name servers, or by those of the settings; DNS answers are cached."""

    def __init__(
        self,
        settings: FetchingSettings,
        on_ended: Callable[[], None] = lambda: None,
        lookup_seconds_max: float = LOOKUP_SECONDS_MAX,
    ) -> None:
        self._settings, self._on_ended, self._seconds_max = settings, on_ended, lookup_seconds_max
        self._guard = AddressGuard(settings.open_ranges, settings.closed_ranges, settings.open_ports)
        self._names: DnsCache | None = None
        self._lock = threading.Lock()
        self._open = 0
        self._ended: dict[str, ResolveResult] = {}
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="resolver", daemon=True)
        self._thread.start()

    @property
    def capacity(self) -> int:
        with self._lock:
            return LOOKUPS_AT_ONCE_MAX - self._open

    def begin(self, sites: Iterable[str]) -> None:
        wanted = list(sites)
        with self._lock:
            self._open += len(wanted)
        self._loop.call_soon_threadsafe(self._start, wanted)

    def take_ended(self) -> dict[str, ResolveResult]:
        with self._lock:
            ended, self._ended = self._ended, {}
        return ended

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    # --- in the resolver's thread ---------------------------------------------

    def _start(self, sites: list[str]) -> None:
        for site in sites:
            task = self._loop.create_task(self._look_up(Site(site)))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._names is not None:
            await self._names.close()

    async def _look_up(self, site: Site) -> None:
        try:
            async with asyncio.timeout(self._seconds_max):
                found = await self._resolve(site)
        except TimeoutError:
            found = f"cannot look up {name_of(site)}: no answer in {self._seconds_max:g} s"
        except Exception as error:  # a defect of ours ends this look-up and no other
            found = f"cannot look up {name_of(site)}: {type(error).__name__}"
        with self._lock:
            self._open -= 1
            self._ended[site] = found
        self._on_ended()

    async def _resolve(self, site: Site) -> ResolveResult:
        if (refusal := self._guard.port_denial_reason(port_of(site))) is not None:
            return refusal
        if self._names is None:
            self._names = DnsCache(DnsResolver(self._settings.dns_servers), self._settings.dns_cache)
        try:
            place = await self._names.resolve(name_of(site))
        except DnsFailure as failure:
            return str(failure)
        refusals = {address: self._guard.denial_reason(address) for address in place.addresses}
        allowed = tuple(address for address, refusal in refusals.items() if refusal is None)
        return allowed or "; ".join(filter(None, refusals.values()))
