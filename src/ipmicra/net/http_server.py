"""An ASGI application and limits -> a web server that strangers cannot use up.

A request must have sent its headers, and then its body, within a time; a body may take longer the larger it
is. A client that does not read its answer is cut off. Connections are limited in number, per client and in
all. A client is an IPv4 address, or an IPv6 /64.

Invariant: nothing is timed per request: once per second all connections are examined.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import resource
from collections import Counter
from functools import partial
from typing import Any

import msgspec
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

CHECK_TICKS = 10  # uvicorn ticks ten times per second
SPARE_FILES = 200  # of the process's open files: databases, the index, sockets to others
FILES_WANTED = 16_384

_log = logging.getLogger(__name__)


class ConnectionLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Time and number of connections. 0 connections per client: no limit."""

    connections_max: int = 4_000
    per_client_max: int = 200
    header_seconds_max: float = 10.0
    body_seconds_max: float = 30.0
    body_bytes_per_second_min: int = (
        200  # beyond `body_seconds_max`: owners of hosts limit their uploads
    )
    write_seconds_max: float = 60.0
    unlimited_clients: tuple[str, ...] = ()  # addresses of trusted proxies


def client_key(address: str) -> str:
    """The client that an address belongs to: an IPv6 customer has at least a /64."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Address(int(parsed) >> 64 << 64))


def names_in(setting: str) -> tuple[str, ...]:
    """The parts of a setting that are separated by commas."""
    return tuple(part.strip() for part in setting.split(",") if part.strip())


class BoundedServer(uvicorn.Server):
    """A uvicorn server with limits. Signals and sockets are as in uvicorn."""

    def __init__(self, config: uvicorn.Config, limits: ConnectionLimits) -> None:
        self.limits = limits
        self.connections_max = min(limits.connections_max, raise_file_limit() - SPARE_FILES)
        self.clients: Counter[str] = Counter()
        self._full_logged = False
        config.http = partial(BoundedProtocol, self)  # type: ignore[assignment] # called as a class is
        super().__init__(config)

    async def on_tick(self, counter: int) -> bool:
        if counter % CHECK_TICKS == 0:
            now_s = asyncio.get_running_loop().time()
            for connection in list(self.server_state.connections):
                if isinstance(connection, BoundedProtocol) and connection.is_late(now_s):
                    connection.transport.abort()
        return await super().on_tick(counter)

    def admits(self, client: str) -> bool:
        """Whether one more connection of this client is allowed."""
        limit = self.limits.per_client_max
        is_limited = bool(limit) and client not in self.limits.unlimited_clients
        is_full = len(self.server_state.connections) > self.connections_max
        if is_full and not self._full_logged:
            _log.warning("no more connections are accepted", extra={"open": self.connections_max})
        self._full_logged = is_full
        return not is_full and not (is_limited and self.clients[client] >= limit)


class BoundedProtocol(HttpToolsProtocol):
    """One connection; `_phase` is what its client has to do next, since `_since_s`."""

    def __init__(self, bounds: BoundedServer, **named: Any) -> None:
        super().__init__(**named)
        self._bounds = bounds
        self._phase, self._since_s, self._body_bytes = "header", self.loop.time(), 0
        self._unread_since_s: float | None = None
        self._client_key = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        client = client_key(self.client[0]) if self.client else ""
        if not self._bounds.admits(client):
            transport.abort()
            return
        self._client_key = client
        self._bounds.clients[client] += 1

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._client_key:
            self._bounds.clients[self._client_key] -= 1
            if self._bounds.clients[self._client_key] <= 0:
                del self._bounds.clients[self._client_key]

    def on_message_begin(self) -> None:
        self._phase, self._since_s = "header", self.loop.time()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._phase, self._body_bytes = "body", 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._phase = ""
        super().on_message_complete()

    def pause_writing(self) -> None:
        self._unread_since_s = self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        self._unread_since_s = None
        super().resume_writing()

    def is_late(self, now_s: float) -> bool:
        limits = self._bounds.limits
        if self._unread_since_s is not None and now_s - self._unread_since_s > limits.write_seconds_max:
            return True
        if self._phase == "header":
            return now_s - self._since_s > limits.header_seconds_max
        if self._phase == "body" and not self.flow.read_paused:  # else it waits for us
            allowed_s = limits.body_seconds_max + self._body_bytes / limits.body_bytes_per_second_min
            return now_s - self._since_s > allowed_s
        return False


def raise_file_limit() -> int:
    """As many open files as the machine lets this process have, up to `FILES_WANTED`. Returns the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES_WANTED if hard == resource.RLIM_INFINITY else min(FILES_WANTED, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return wanted
    return FILES_WANTED if soft == resource.RLIM_INFINITY else soft
