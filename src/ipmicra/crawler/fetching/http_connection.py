"""A connected transport -> one exchange at a time: the part that both versions of HTTP share.

Invariant: one request at a time, and bytes without a request close the connection. A connection knows its
socket, so round trips and addresses are those of the kernel.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from time import monotonic
from typing import NamedTuple, cast

from ipmicra.addresses import IPAddress
from ipmicra.crawler.fetching.partial_response import PartialResponse
from ipmicra.model.failures import FailureKind
from ipmicra.model.fetches import FetchRequest
from ipmicra.net import kernel_round_trip
from ipmicra.net.target import HttpTarget


class Wire(NamedTuple):
    """How a connection was made."""

    origin: tuple[bool, str, int]
    site: str
    address: IPAddress
    socket: socket.socket
    connect_ms: float


class HttpConnection(asyncio.Protocol):
    """One connection to one origin."""

    http_version = ""

    def __init__(self, wire: Wire, user_agent: str) -> None:
        self.wire = wire
        self.address_number = int(wire.address)  # hashing an IPAddress takes ten times as long
        self.tls_ms: float | None = None
        self.uses = 0
        self.idle_since = 0.0
        self.closed = False
        self._user_agent = user_agent
        self._incoming: PartialResponse | None = None
        self._transport: asyncio.Transport | None = None

    def send(self, incoming: PartialResponse, target: HttpTarget) -> bytes:
        """Send the request; the answer arrives in `incoming`. Returns the request as written."""
        raise NotImplementedError

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, error: Exception | None) -> None:
        self.closed = True
        if self._incoming is not None:
            self._on_lost_while_receiving(self._incoming, error)
        self._incoming = None
        self._transport = None

    def _on_lost_while_receiving(self, incoming: PartialResponse, error: Exception | None) -> None:
        self.fail(FailureKind.RESET, f"the connection ended early: {error or 'closed by the site'}")

    def fail(self, kind: FailureKind, detail: str) -> None:
        """Give up on the running answer, and on the connection with it."""
        incoming, self._incoming = self._incoming, None
        if incoming is not None:
            incoming.round_trip_ms = kernel_round_trip.round_trip_ms(self.wire.socket)
            incoming.fail(kind, detail, monotonic())
        self.close()

    def _finish(self, keep_alive: bool) -> None:
        incoming, self._incoming = self._incoming, None
        if incoming is not None:
            incoming.round_trip_ms = kernel_round_trip.round_trip_ms(self.wire.socket)
            incoming.finish(monotonic())
        if not keep_alive:
            self.close()

    def close(self) -> None:
        """Close the connection at once; a response in progress is dropped."""
        self.closed = True
        if self._transport is not None:
            with suppress(OSError):  # for other holders of the socket, such as a broker
                self.wire.socket.shutdown(socket.SHUT_RDWR)
            self._transport.abort()


def request_fields(request: FetchRequest, user_agent: str, encodings: str) -> list[tuple[str, str]]:
    """The header fields of a request, without the host."""
    fields = [("user-agent", user_agent), ("accept", request.accept), ("accept-encoding", encodings)]
    if request.etag and _is_field_value(request.etag):
        fields.append(("if-none-match", request.etag))
    if request.last_modified and _is_field_value(request.last_modified):
        fields.append(("if-modified-since", request.last_modified))
    return fields


def _is_field_value(text: str) -> bool:
    """Whether a text may be sent as a field value: validators come from sites and may contain line
    breaks.
    """
    return text.isprintable() and text.isascii()
