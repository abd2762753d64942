"""Targets that the coordinator names -> round trips from this host, by every method that its owner has
allowed.

Round trips from the crawler's fetches come first and cost nothing. For the others the host sends probes
itself, with its own fetcher for HEAD requests: no name is resolved, since the address to probe is given,
and every address passes the same guard as a fetch.

Invariant: one probe at a time at the host's own pace, within hours and limits, and every address
in the store before a packet goes to it.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Callable, Sequence
from weakref import WeakValueDictionary

import msgspec

from ipmicra.addresses import IPAddress
from ipmicra.crawler.crawl import allowed_fetching, fetcher_for
from ipmicra.host.limits.usage import UsageMeter
from ipmicra.host.settings import HostingSettings
from ipmicra.model.fetches import Fetcher
from ipmicra.model.urls import Site, name_of
from ipmicra.net.address_guard import AddressGuard
from ipmicra.net.dns_resolver import DnsAnswer, NoSuchName
from ipmicra.probing.passive import PassiveRoundTrips
from ipmicra.probing.prober import Prober
from ipmicra.probing.result import ProbeOutcome
from ipmicra.probing.settings import ProbeMethod
from ipmicra.protocol.host_messages import ProbeResult, ProbeTarget

# Estimated bytes of one probe in each direction. HEAD includes TLS certificates.
PROBE_BYTES: dict[ProbeMethod, int] = {
    "passive": 0, "connect": 240, "icmp": 60, "head": 6_000, "answer": 6_000
}  # fmt: skip


class FixedResolver:
    """A resolver without name servers: a name has the address of the present probe."""

    def __init__(self) -> None:
        self.addresses: dict[str, IPAddress] = {}

    async def resolve(self, name: str) -> DnsAnswer:
        if name not in self.addresses:
            raise NoSuchName(f"{name} is not being probed")
        return DnsAnswer((self.addresses[name],), 0)

    async def close(self) -> None:
        self.addresses.clear()


class ProbeService:
    """The host's probes. Close it."""

    def __init__(
        self,
        settings: Callable[[], HostingSettings],
        meter: UsageMeter,
        passive: PassiveRoundTrips,
        blocked_reason: Callable[[], str | None],
    ) -> None:
        self._settings, self._meter = settings, meter
        self._passive, self._blocked_reason = passive, blocked_reason
        self._names = FixedResolver()
        self._opened: tuple[HostingSettings, Fetcher] | None = None
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def run(self, targets: Sequence[ProbeTarget]) -> tuple[ProbeResult, ...]:
        """The round trips, in the order of the targets; none for those that the host may not probe
        now.
        """
        return tuple(await asyncio.gather(*map(self._probe_target, targets)))

    async def close(self) -> None:
        if self._opened is not None:
            _, fetcher = self._opened
            self._opened = None
            await fetcher.__aexit__(None, None, None)

    async def _probe_target(self, target: ProbeTarget) -> ProbeResult:
        try:
            address = ipaddress.ip_address(target.address)
        except ValueError:
            return _not_probed(target, "no address")
        await self._meter.wait_for_probe()
        async with self._meter.request_slot():
            reason = self._blocked_reason()
            if reason is not None:
                return _not_probed(target, reason)
            self._meter.record_contact(target.address, target.site, "probe")
            outcome = await self._probe_address(address, target)
        cost = PROBE_BYTES[outcome.method]
        self._meter.record_bytes(target.address, target.site, "probe", cost, cost)
        return _result(target, outcome)

    async def _probe_address(self, address: IPAddress, target: ProbeTarget) -> ProbeOutcome:
        """Probe one name at one address at a time."""
        if target.is_host:
            return await (await self._prober()).probe_host(address)
        name = name_of(Site(target.site))
        lock = self._locks.setdefault(name, asyncio.Lock())
        async with lock:
            self._names.addresses[name] = address
            try:
                return await (await self._prober()).probe(address, target.port, target.site)
            finally:
                self._names.addresses.pop(name, None)

    async def _prober(self) -> Prober:
        settings = self._settings()
        fetching = allowed_fetching(settings.crawler, settings.fetching)
        guard = AddressGuard(fetching.open_ranges, fetching.closed_ranges, fetching.open_ports)
        fetcher = await self._fetcher(settings) if settings.probing.asks_sites else None
        return Prober(settings.probing, guard, self._passive, fetcher, fetching.source_address)

    async def _fetcher(self, settings: HostingSettings) -> Fetcher:
        """A fetcher for the present settings. It keeps no connection and no name for later."""
        if self._opened is not None and self._opened[0] == settings:
            return self._opened[1]
        await self.close()
        patience_ms = settings.probing.patience_ms
        fetching = msgspec.structs.replace(
            settings.fetching,
            idle_connections_max=0,
            dns_ttl_seconds_min=0,
            dns_ttl_seconds_max=0,
            connect_ms_max=patience_ms,
            first_byte_ms_max=patience_ms,
        )
        fetcher = fetcher_for(settings.crawler, fetching, self._names)
        self._opened = (settings, fetcher)
        await fetcher.__aenter__()
        return fetcher


def _result(target: ProbeTarget, outcome: ProbeOutcome) -> ProbeResult:
    return ProbeResult(
        site=target.site,
        address=target.address,
        round_trip_ms=outcome.round_trip_ms,
        way=outcome.method,
        silence=None if outcome.silence is None else outcome.silence.value,
    )


def _not_probed(target: ProbeTarget, why: str) -> ProbeResult:
    return ProbeResult(site=target.site, address=target.address, round_trip_ms=None, silence=why)
