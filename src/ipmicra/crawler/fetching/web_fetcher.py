"""A request -> one hop on the real network, through cache, guard, pool and caps.

Invariant: at most `connections_max` requests, and as many connections, per site and per address; further
requests wait in order. No behaviour of a site raises an exception. If a reused connection is closed
before its first byte, one new connection is tried, once.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from types import TracebackType
from typing import Self

from ipmicra.addresses import IPAddress
from ipmicra.crawler.fetching.connection_pool import ConnectionPool
from ipmicra.crawler.fetching.deadlines import Deadlines
from ipmicra.crawler.fetching.http_connection import HttpConnection
from ipmicra.crawler.fetching.http_handshake import HttpConnector
from ipmicra.crawler.fetching.keyed_semaphore import KeyedSemaphore
from ipmicra.crawler.fetching.partial_response import PartialResponse, ResponseCaps
from ipmicra.crawler.fetching.response_builder import build_failed, build_fetched
from ipmicra.crawler.fetching.settings import FetchingSettings
from ipmicra.errors import OperatorFault
from ipmicra.model.failures import FailureKind
from ipmicra.model.fetches import Fetched, FetchFailed, FetchOutcome, FetchRequest
from ipmicra.net.address_guard import AddressGuard
from ipmicra.net.dns_cache import DnsCache, DnsEntry, DnsFailure
from ipmicra.net.dns_resolver import DnsResolver, Resolver
from ipmicra.net.target import HttpTarget, target_of
from ipmicra.net.tcp_connector import ConnectFailed, Connector, DirectConnector

ADDRESSES_TRIED_MAX = 4
UNPROVEN_CONNECT_MS_MAX = 2_000  # before the name's next address is tried
ANOTHER_ADDRESS_MAY_HELP = frozenset(
    {
        FailureKind.REFUSED_ADDRESS,
        FailureKind.NO_NETWORK,
        FailureKind.CONNECT,
        FailureKind.CONNECT_TIMEOUT,
    }
)
HTTP2_STATUSES = frozenset({421, 426, 505})
HTTP2_ORIGINS_MAX = 10_000


class WebFetcher:
    """The fetcher of the live system. Made and used inside a running event loop."""

    def __init__(
        self,
        settings: FetchingSettings,
        user_agent: str,
        resolver: Resolver | None = None,
        connector: Connector | None = None,
    ) -> None:
        if not user_agent.isprintable() or not user_agent.isascii():
            raise OperatorFault(f"the User-Agent {user_agent!r} must be printable ASCII text")
        self._settings = settings
        self._guard = AddressGuard(settings.open_ranges, settings.closed_ranges, settings.open_ports)
        self._names = DnsCache(resolver or DnsResolver(settings.dns_servers), settings.dns_cache)
        connector = connector or DirectConnector(self._guard, settings.source_address)
        self._opener = HttpConnector(settings, connector, user_agent)
        self._idle = ConnectionPool(settings.idle_connections_max, settings.idle_ms_max)
        self._deadlines = Deadlines(settings, self._idle.close_old)
        self._sites: KeyedSemaphore[str] = KeyedSemaphore()
        self._addresses: KeyedSemaphore[int] = (
            KeyedSemaphore()
        )  # hashing an IPAddress takes ten times as long
        self._http2_origins: dict[tuple[bool, str, int], None] = {}
        self._caps = ResponseCaps(
            settings.body_bytes_max, settings.header_bytes_max, settings.header_count_max
        )
        self._closed = False

    async def __aenter__(self) -> Self:
        self._deadlines.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed = True
        self._deadlines.stop()
        self._deadlines.fail_all(FailureKind.CLOSED, "the fetcher was closed")
        self._idle.close_all()
        await self._names.close()
        await asyncio.sleep(0)  # transports say good-bye in the loop's next turn

    async def locate(self, url: str) -> IPAddress | FetchFailed:
        """The address that a fetch of this URL would connect to now."""
        target = self._target(url)
        if isinstance(target, FetchFailed):
            return target
        place = self._names.cached(target.name)
        if place is None or place.failure is not None:
            try:
                place = await self._names.resolve(target.name)
            except DnsFailure as failure:
                return FetchFailed(url=url, kind=failure.kind, detail=str(failure))
        if place.located is not None:
            return place.located
        for address in place.addresses:
            refusal = self._guard.denial_reason(address)
            if refusal is None:
                place.located = address
                return address
        return FetchFailed(
            url=url, kind=FailureKind.REFUSED_ADDRESS, detail=refusal or "", address=address
        )

    async def fetch(self, request: FetchRequest) -> FetchOutcome:
        """One hop."""
        target = self._target(request.url)
        if isinstance(target, FetchFailed):
            return target
        name = target.name
        if not self._sites.try_acquire(name, request.connections_max):
            await self._sites.acquire(name, request.connections_max)
        try:
            place, dns_ms = self._names.cached(name), None
            if place is None or place.failure is not None:
                started_at = monotonic()
                place = await self._names.resolve(name)
                dns_ms = (monotonic() - started_at) * 1000
            return await self._fetch_at(place, target, request, dns_ms)
        except DnsFailure as failure:
            return FetchFailed(url=request.url, kind=failure.kind, detail=str(failure))
        finally:
            self._sites.release(name)

    def _target(self, url: str) -> HttpTarget | FetchFailed:
        if self._closed:
            return FetchFailed(url=url, kind=FailureKind.CLOSED, detail="the fetcher is closed")
        target = target_of(url)
        if isinstance(target, FetchFailed):
            return target
        refusal = self._guard.port_denial_reason(target.port)
        if refusal is not None:
            return FetchFailed(url=url, kind=FailureKind.REFUSED_PORT, detail=refusal)
        return target

    async def _fetch_at(
        self, place: DnsEntry, target: HttpTarget, request: FetchRequest, dns_ms: float | None
    ) -> FetchOutcome:
        """Try the name's addresses in turn until one takes the connection."""
        candidates = place.addresses[:ADDRESSES_TRIED_MAX]
        outcome: FetchOutcome | None = None
        for position, address in enumerate(candidates):
            hasty = not place.proven and position + 1 < len(candidates)
            number = int(address)
            if not self._addresses.try_acquire(number, request.connections_max):
                await self._addresses.acquire(number, request.connections_max)
            try:
                outcome = await self._fetch_from(address, target, request, dns_ms, hasty)
            except ConnectFailed as failure:
                place.demote(address)
                outcome = FetchFailed(
                    url=request.url, kind=failure.kind, detail=str(failure), address=address
                )
                if failure.kind not in ANOTHER_ADDRESS_MAY_HELP:
                    return outcome
            else:
                if not place.proven:
                    place.mark_reachable(address)
                return outcome
            finally:
                self._addresses.release(number)
        assert outcome is not None, "a place without a failure has an address"
        return outcome

    async def _fetch_from(
        self,
        address: IPAddress,
        target: HttpTarget,
        request: FetchRequest,
        dns_ms: float | None,
        hasty: bool,
    ) -> FetchOutcome:
        """On a kept connection if there is one, else on a new one. Raises OpeningFailed."""
        connection = self._idle.take(target.origin, address)
        if connection is not None:
            outcome, incoming = await self._exchange(connection, target, request, dns_ms)
            if not _was_stale(outcome, incoming):
                return outcome
        http2 = target.origin in self._http2_origins
        try:
            connection = await self._open(target, address, request, hasty, http2)
        except ConnectFailed as failure:
            if http2 or not failure.http2_wanted:
                raise
            return await self._fetch_http2(address, target, request, dns_ms)
        outcome, incoming = await self._exchange(connection, target, request, dns_ms)
        if not http2 and target.secure and _wants_http2(outcome, incoming):
            try:
                return await self._fetch_http2(address, target, request, dns_ms)
            except ConnectFailed:
                return outcome
        return outcome

    async def _fetch_http2(
        self, address: IPAddress, target: HttpTarget, request: FetchRequest, dns_ms: float | None
    ) -> FetchOutcome:
        connection = await self._open(target, address, request, False, http2=True)
        if len(self._http2_origins) < HTTP2_ORIGINS_MAX:
            self._http2_origins[target.origin] = None
        outcome, _ = await self._exchange(connection, target, request, dns_ms)
        return outcome

    async def _open(
        self, target: HttpTarget, address: IPAddress, request: FetchRequest, hasty: bool, http2: bool
    ) -> HttpConnection:
        kept_max = request.connections_max - self._addresses.held(int(address))
        self._idle.evict_idle(address, kept_max)
        patience_ms = self._settings.connect_ms_max
        if hasty:
            patience_ms = min(patience_ms, UNPROVEN_CONNECT_MS_MAX)
        connection = await self._opener.open(target, address, patience_ms, http2)
        if self._closed:
            connection.close()
            raise ConnectFailed(FailureKind.CLOSED, "the fetcher was closed")
        return connection

    async def _exchange(
        self, connection: HttpConnection, target: HttpTarget, request: FetchRequest, dns_ms: float | None
    ) -> tuple[FetchOutcome, PartialResponse]:
        """Send the request, wait for the end of the response, and keep the connection if it can be
        reused.
        """
        settings = self._settings
        caps = self._caps
        if request.body_bytes_max:
            caps = caps._replace(body_bytes=request.body_bytes_max)
        incoming = PartialResponse(request, caps, asyncio.get_running_loop().create_future())
        self._deadlines.watch(incoming)
        try:
            written = connection.send(incoming, target)
            await incoming.done
        except BaseException:
            connection.close()
            raise
        finally:
            self._deadlines.forget(incoming)
        if not connection.closed:
            self._idle.put(connection)
        if incoming.failure is not None:
            return build_failed(incoming, connection), incoming
        return build_fetched(incoming, connection, written, dns_ms, settings.inflate_ratio_max), incoming


def _was_stale(outcome: FetchOutcome, incoming: PartialResponse) -> bool:
    """The site closed a kept connection before it saw the request: not an answer to it."""
    return (
        isinstance(outcome, FetchFailed)
        and outcome.kind is FailureKind.RESET
        and not incoming.wire_bytes
    )


def _wants_http2(outcome: FetchOutcome, incoming: PartialResponse) -> bool:
    if isinstance(outcome, Fetched):
        return outcome.status in HTTP2_STATUSES
    return incoming.http2_wanted
