"""Site names -> the one address at which each is crawled.

Invariant: a name with many addresses is crawled at the same one as long as that address answers and DNS
still lists it, so that politeness per address is exact. TTLs are respected within the settings' bounds;
failures are cached too; a name is never looked up twice at once; memory is bounded.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from ipmicra.addresses import IPAddress
from ipmicra.model.failures import FailureKind
from ipmicra.net.dns_resolver import DnsAnswer, NamesUnreachable, NoSuchName, Resolver
from ipmicra.net.target import literal_address


@dataclass(frozen=True)
class DnsCacheBounds:
    """Bounds on the age of cached answers, which override their TTL, and on their number."""

    ttl_seconds_min: float
    ttl_seconds_max: float
    failure_seconds: float
    names_max: int


class DnsFailure(Exception):
    """The name gave no address to try; `kind` is the reason."""

    def __init__(self, kind: FailureKind, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind


class DnsEntry:
    """The addresses of one name; the first is the one it is crawled at."""

    __slots__ = ("addresses", "expires_at", "failure", "located", "proven")

    def __init__(
        self,
        addresses: tuple[IPAddress, ...],
        expires_at: float,
        failure: DnsFailure | None = None,
        proven: bool = False,
    ) -> None:
        self.addresses = addresses
        self.expires_at = expires_at
        self.failure = failure
        self.proven = proven  # the first address has answered
        self.located: IPAddress | None = None  # the latest reply, until something changes

    def mark_reachable(self, address: IPAddress) -> None:
        """A connection to this address was made: stay with it."""
        others = tuple(other for other in self.addresses if other != address)
        self.addresses = (address, *others)
        self.proven = True
        self.located = address

    def demote(self, address: IPAddress) -> None:
        """No connection to this address: try the others first from now on."""
        if address in self.addresses:
            others = tuple(other for other in self.addresses if other != address)
            self.addresses = (*others, address)
            self.proven = False
            self.located = None


class DnsCache:
    """The DNS cache."""

    def __init__(
        self,
        resolver: Resolver,
        bounds: DnsCacheBounds,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._resolver = resolver
        self._bounds = bounds
        self._clock = clock
        self._entries: OrderedDict[str, DnsEntry] = OrderedDict()
        self._queries: dict[str, asyncio.Future[DnsEntry]] = {}

    def cached(self, name: str) -> DnsEntry | None:
        """A cached name that has not expired; None if a query is needed."""
        entry = self._entries.get(name)
        return entry if entry is not None and entry.expires_at > self._clock() else None

    async def resolve(self, name: str) -> DnsEntry:
        """The entry of a name, looked up if needed. Raises DnsFailure."""
        entry = self.cached(name) or self._literal(name) or await self._query_once(name)
        if entry.failure is not None:
            raise DnsFailure(entry.failure.kind, str(entry.failure))
        return entry

    def _literal(self, name: str) -> DnsEntry | None:
        address = literal_address(name)
        if address is None:
            return None
        return self._remember(name, DnsEntry((address,), float("inf")))

    async def _query_once(self, name: str) -> DnsEntry:
        query = self._queries.get(name)
        if query is None:
            query = self._queries[name] = asyncio.ensure_future(self._query(name))
            query.add_done_callback(lambda _: self._queries.pop(name, None))
        return await asyncio.shield(query)

    async def _query(self, name: str) -> DnsEntry:
        try:
            answer = await self._resolver.resolve(name)
        except (NoSuchName, NamesUnreachable) as error:
            missing = isinstance(error, NoSuchName)
            kind = FailureKind.DNS_NO_NAME if missing else FailureKind.DNS_FAILED
            expires_at = self._clock() + self._bounds.failure_seconds
            return self._remember(name, DnsEntry((), expires_at, DnsFailure(kind, str(error))))
        return self._remember(name, self._updated_entry(name, answer))

    def _updated_entry(self, name: str, answer: DnsAnswer) -> DnsEntry:
        """The new answer, with the present address kept in front while it is still listed."""
        low, high = self._bounds.ttl_seconds_min, self._bounds.ttl_seconds_max
        expires_at = self._clock() + min(max(answer.ttl_seconds, low), high)
        entry = DnsEntry(tuple(sorted(answer.addresses, key=_preference)), expires_at)
        before = self._entries.get(name)
        if before is not None and before.proven and before.addresses[0] in entry.addresses:
            entry.mark_reachable(before.addresses[0])
        return entry

    def _remember(self, name: str, entry: DnsEntry) -> DnsEntry:
        self._entries[name] = entry
        self._entries.move_to_end(name)
        if len(self._entries) > self._bounds.names_max:
            self._entries.popitem(last=False)
        return entry

    async def close(self) -> None:
        query = list(self._queries.values())
        for question in query:
            question.cancel()
        await asyncio.gather(*query, return_exceptions=True)
        await self._resolver.close()


def _preference(address: IPAddress) -> tuple[int, int]:
    """IPv4 first: many names share one, so it is the stricter key for politeness. Then the lowest."""
    return address.version, int(address)
