"""Names of sites -> the addresses at which they may be probed and crawled, or the reason why there are
none.

Invariant: addresses that a host must not connect to are refused here already, so that nobody can make hosts
probe private networks by submitting a name that resolves to them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from ipmicra.addresses import IPAddress
from ipmicra.crawler.fetching.settings import FetchingSettings
from ipmicra.model.urls import Site, name_of, port_of
from ipmicra.net.address_guard import AddressGuard
from ipmicra.net.dns_cache import DnsCache, DnsFailure
from ipmicra.net.dns_resolver import DnsResolver

ResolveResult = tuple[IPAddress, ...] | str  # addresses, or the reason why there are none


class SiteResolver:
    """Resolves names for the leader's thread, many concurrently; DNS answers are cached."""

    def __init__(self, settings: FetchingSettings) -> None:
        self._runner = asyncio.Runner()
        self._settings = settings
        self._guard = AddressGuard(settings.open_ranges, settings.closed_ranges, settings.open_ports)
        self._names: DnsCache | None = None

    def resolve(self, sites: Iterable[str]) -> dict[str, ResolveResult]:
        return self._runner.run(self._resolve_all(list(sites)))

    def close(self) -> None:
        if self._names is not None:
            self._runner.run(self._names.close())
        self._runner.close()

    async def _resolve_all(self, sites: list[str]) -> dict[str, ResolveResult]:
        if self._names is None:
            self._names = DnsCache(DnsResolver(self._settings.dns_servers), self._settings.dns_cache)
        found = await asyncio.gather(*(self._resolve_one(Site(site), self._names) for site in sites))
        return dict(zip(sites, found, strict=True))

    async def _resolve_one(self, site: Site, resolver: DnsCache) -> ResolveResult:
        if (refusal := self._guard.port_denial_reason(port_of(site))) is not None:
            return refusal
        try:
            place = await resolver.resolve(name_of(site))
        except DnsFailure as failure:
            return str(failure)
        refusals = {address: self._guard.denial_reason(address) for address in place.addresses}
        allowed = tuple(address for address, refusal in refusals.items() if refusal is None)
        return allowed or "; ".join(filter(None, refusals.values()))
