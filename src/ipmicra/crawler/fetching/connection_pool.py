"""Idle connections -> reused for the next request to the same origin, for a limited time.

Invariant: bounded in number and age, and an idle connection counts against its address: call `evict_idle`
before opening another one there.
"""

from __future__ import annotations

from collections import OrderedDict
from time import monotonic
from typing import TypeVar

from ipmicra.addresses import IPAddress
from ipmicra.crawler.fetching.http_connection import HttpConnection

Origin = tuple[bool, str, int]
PoolKey = TypeVar("PoolKey")


class ConnectionPool:
    """Kept connections, the longest unused first."""

    def __init__(self, count_max: int, idle_ms_max: int) -> None:
        self._count_max = count_max
        self._idle_seconds_max = idle_ms_max / 1000
        self._by_age: OrderedDict[HttpConnection, None] = OrderedDict()
        self._by_origin: dict[Origin, list[HttpConnection]] = {}
        self._by_address: dict[int, list[HttpConnection]] = {}

    def __len__(self) -> int:
        return len(self._by_age)

    def take(self, origin: Origin, address: IPAddress) -> HttpConnection | None:
        """The last kept connection of that origin, if it is to that address and still open."""
        while kept := self._by_origin.get(origin):
            connection = kept[-1]
            self._drop(connection)
            if not connection.closed and connection.address_number == int(address):
                return connection
            connection.close()
        return None

    def put(self, connection: HttpConnection) -> None:
        connection.idle_since = monotonic()
        self._by_age[connection] = None
        self._by_origin.setdefault(connection.wire.origin, []).append(connection)
        self._by_address.setdefault(connection.address_number, []).append(connection)
        if len(self._by_age) > self._count_max:
            self._close(next(iter(self._by_age)))

    def evict_idle(self, address: IPAddress, kept_max: int) -> None:
        """Close kept connections to that address, oldest first, until at most `kept_max` are left."""
        while len(kept := self._by_address.get(int(address), [])) > max(0, kept_max):
            self._close(kept[0])

    def close_old(self, now: float) -> None:
        """Close what has been unused for too long, and forget what the sites have closed."""
        while self._by_age:
            oldest = next(iter(self._by_age))
            if not oldest.closed and now - oldest.idle_since < self._idle_seconds_max:
                return
            self._close(oldest)

    def close_all(self) -> None:
        for connection in list(self._by_age):
            self._close(connection)

    def _close(self, connection: HttpConnection) -> None:
        self._drop(connection)
        connection.close()

    def _drop(self, connection: HttpConnection) -> None:
        del self._by_age[connection]
        _remove(self._by_origin, connection.wire.origin, connection)
        _remove(self._by_address, connection.address_number, connection)


def _remove(
    lists: dict[PoolKey, list[HttpConnection]], key: PoolKey, connection: HttpConnection
) -> None:
    kept = lists[key]
    kept.remove(connection)
    if not kept:
        del lists[key]
