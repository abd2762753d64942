"""Frames of HTTP/2 <-> one response at a time, for servers that support nothing else.

Invariant: one stream at a time, since politeness allows no more anyway; the same caps as HTTP/1.1; a
server's push is refused. On an idle connection few bytes are read: no pings without end. Raw bytes are
written down in the form of HTTP/1.1, which WARC readers understand.
"""

from __future__ import annotations

import asyncio
from time import monotonic

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings

from ipmicra.crawler.fetching.content_decoding import ACCEPT_ENCODING
from ipmicra.crawler.fetching.http_connection import HttpConnection, Wire, request_fields
from ipmicra.crawler.fetching.partial_response import PartialResponse
from ipmicra.model.failures import FailureKind
from ipmicra.net.target import HttpTarget

IDLE_BYTES_MAX = 4 << 10  # between two requests: settings, and a ping (17 bytes) every now and then
_CONFIG = h2.config.H2Configuration(client_side=True, header_encoding=None)


class Http2Connection(HttpConnection):
    """HTTP/2, one stream at a time."""

    http_version = "2"

    def __init__(self, wire: Wire, user_agent: str) -> None:
        super().__init__(wire, user_agent)
        self._frames = h2.connection.H2Connection(config=_CONFIG)
        self._stream = 0
        self._idle_bytes = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._frames.local_settings.enable_push = 0
        self._frames.initiate_connection()
        self._flush()

    def send(self, incoming: PartialResponse, target: HttpTarget) -> bytes:
        self._incoming, self._idle_bytes = incoming, 0
        incoming.connection = self
        incoming.started_at = monotonic()
        self.uses += 1
        fields = request_fields(incoming.request, self._user_agent, ACCEPT_ENCODING)
        pseudo = [
            (":method", incoming.request.method),
            (":scheme", "https" if target.secure else "http"),
            (":authority", target.host_header),
            (":path", target.resource),
        ]
        try:
            self._stream = self._frames.get_next_available_stream_id()
            self._frames.send_headers(self._stream, pseudo + fields, end_stream=True)
        except h2.exceptions.ProtocolError as error:
            self.fail(FailureKind.RESET, f"the connection takes no more requests: {error}")
        self._flush()
        lines = "".join(
            f"{name}: {value}\r\n" for name, value in [("host", target.host_header), *fields]
        )
        return f"{incoming.request.method} {target.resource} HTTP/1.1\r\n{lines}\r\n".encode("latin-1")

    def data_received(self, data: bytes) -> None:
        incoming = self._incoming
        if incoming is not None:
            incoming.wire_bytes += len(data)
        elif not self._is_quiet(len(data)):
            self.close()
            return
        try:
            events = self._frames.receive_data(data)
        except h2.exceptions.DenialOfServiceError as error:
            self.fail(FailureKind.HEADERS_TOO_LARGE, f"too much header in HTTP/2: {error}")
            return
        except h2.exceptions.ProtocolError as error:
            self.fail(FailureKind.BAD_HTTP, f"not HTTP/2: {error}")
            return
        for event in events:
            self._take(event)
        self._flush()
        if self._incoming is incoming and incoming is not None and incoming.overhead_is_absurd:
            self.fail(FailureKind.BAD_HTTP, "far more framing than content")

    def _is_quiet(self, more_bytes: int) -> bool:
        """Whether an idle connection is left in peace; each ping is answered, which costs us time."""
        self._idle_bytes += more_bytes
        return self._idle_bytes <= IDLE_BYTES_MAX

    def _take(self, event: h2.events.Event) -> None:
        incoming = self._incoming
        if isinstance(event, h2.events.ConnectionTerminated):
            self.fail(FailureKind.RESET, f"the site ended the connection (code {event.error_code})")
        elif incoming is None or getattr(event, "stream_id", self._stream) != self._stream:
            return
        elif isinstance(event, h2.events.ResponseReceived):
            self._take_head(incoming, [(bytes(name), bytes(value)) for name, value in event.headers])
        elif isinstance(event, h2.events.DataReceived):
            self._take_piece(incoming, event)
        elif isinstance(event, h2.events.StreamEnded):
            self._finish(keep_alive=True)
        elif isinstance(event, h2.events.StreamReset):
            self.fail(FailureKind.RESET, f"the site reset the stream (code {event.error_code})")

    def _take_head(self, incoming: PartialResponse, fields: list[tuple[bytes, bytes]]) -> None:
        incoming.first_byte_at = monotonic()
        status = next((value for name, value in fields if name == b":status"), b"")
        for name, value in fields:
            wrong = None if name.startswith(b":") else incoming.add_field(name, value)
            if wrong is not None:
                self.fail(FailureKind.HEADERS_TOO_LARGE, wrong)
                return
        if not status.isdigit():
            self.fail(FailureKind.BAD_HTTP, "no status")
            return
        incoming.complete_head(int(status))
        if incoming.raw is not None:
            lines = b"".join(b"%b: %b\r\n" % field for field in incoming.fields)
            incoming.raw.append(b"HTTP/1.1 %b\r\n%b\r\n" % (status, lines))
        if incoming.not_worth_draining:
            self._finish(keep_alive=False)

    def _take_piece(self, incoming: PartialResponse, event: h2.events.DataReceived) -> None:
        piece = bytes(event.data or b"")
        if incoming.raw is not None:
            incoming.raw.append(piece)
        if not incoming.add_piece(piece):
            self._finish(keep_alive=False)
        elif event.flow_controlled_length:
            self._frames.acknowledge_received_data(event.flow_controlled_length, self._stream)

    def _flush(self) -> None:
        data = self._frames.data_to_send()
        if data and self._transport is not None and not self.closed:
            self._transport.write(data)
