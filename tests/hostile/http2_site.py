"""Answers by path -> a server that speaks nothing but HTTP/2, and shows it in one of several ways."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from typing import Literal, NamedTuple, cast

import h2.config
import h2.connection
import h2.events
import h2.exceptions

NO_COMMON_PROTOCOL_ALERT = b"\x15\x03\x03\x00\x02\x02\x78"  # TLS: fatal, no_application_protocol (120)
Manner = Literal["alerts", "greets", "505"]


class Page(NamedTuple):
    status: int = 200
    fields: tuple[tuple[str, str], ...] = (("content-type", "text/html"),)
    body: bytes = b""
    endless: bool = False


class Http2Server(asyncio.Protocol):
    """One connection. What is not HTTP/2 is answered in the given manner."""

    def __init__(self, pages: Mapping[str, Page], manner: Manner) -> None:
        self._pages = pages
        self._manner = manner
        self._frames = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        self._bodies: dict[int, bytes] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        chosen = transport.get_extra_info("ssl_object").selected_alpn_protocol()
        if chosen == "h2" or self._manner == "greets":
            self._frames.initiate_connection()
            self._flush()

    def data_received(self, data: bytes) -> None:
        if data.startswith(b"GET ") and self._manner == "505":
            self._transport.write(b"HTTP/1.1 505 Too old\r\ncontent-length: 0\r\n\r\n")
            return
        try:
            events = self._frames.receive_data(data)
        except h2.exceptions.ProtocolError:
            self._flush()
            self._transport.close()
            return
        for event in events:
            if isinstance(event, h2.events.RequestReceived):
                self._answer(event)
        self._send_bodies()
        self._flush()

    def _answer(self, event: h2.events.RequestReceived) -> None:
        assert event.stream_id is not None
        asked = {bytes(name): bytes(value).decode() for name, value in _as_bytes(event.headers)}
        page = self._pages.get(asked[b":path"], Page(404))
        self._frames.send_headers(event.stream_id, [(":status", str(page.status)), *page.fields])
        self._bodies[event.stream_id] = b"x" * (64 << 20) if page.endless else page.body

    def _send_bodies(self) -> None:
        """As much as flow control lets through."""
        for stream, body in list(self._bodies.items()):
            try:
                while body and (room := self._frames.local_flow_control_window(stream)):
                    piece = body[: min(room, self._frames.max_outbound_frame_size)]
                    self._frames.send_data(stream, piece)
                    body = body[len(piece) :]
                if not body:
                    self._frames.end_stream(stream)
            except h2.exceptions.ProtocolError:
                body = b""
            self._bodies[stream] = body
            if not body:
                del self._bodies[stream]

    def _flush(self) -> None:
        self._transport.write(self._frames.data_to_send())


def _as_bytes(headers: object) -> list[tuple[bytes, bytes]]:
    pairs = cast(list[tuple[bytes | str, bytes | str]], headers)
    return [(_encoded(name), _encoded(value)) for name, value in pairs]


def _encoded(text: bytes | str) -> bytes:
    return text if isinstance(text, bytes) else text.encode()


@contextlib.asynccontextmanager
async def http2_only(
    pages: Mapping[str, Page], tls: ssl.SSLContext, manner: Manner
) -> AsyncIterator[int]:
    """The port of a server on 127.0.0.1."""
    loop = asyncio.get_running_loop()
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setblocking(False)
    transports: list[asyncio.BaseTransport] = []

    async def accept() -> None:
        while True:
            sock, _ = await loop.sock_accept(listening)
            if manner == "alerts" and not await _offers_http2(sock):
                await loop.sock_sendall(sock, NO_COMMON_PROTOCOL_ALERT)
                sock.close()
                continue
            with contextlib.suppress(OSError):
                made = await loop.connect_accepted_socket(
                    lambda: Http2Server(pages, manner), sock, ssl=tls
                )
                transports.append(made[0])

    accepting = asyncio.create_task(accept())
    try:
        yield listening.getsockname()[1]
    finally:
        accepting.cancel()
        await asyncio.gather(accepting, return_exceptions=True)
        listening.close()
        for transport in transports:
            cast(asyncio.Transport, transport).abort()
        await asyncio.sleep(0)


async def _offers_http2(sock: socket.socket) -> bool:
    """Whether the client's hello, left in the socket, names h2."""
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(sock.fileno(), readable.set)
    await readable.wait()
    loop.remove_reader(sock.fileno())
    return b"\x02h2" in sock.recv(16_384, socket.MSG_PEEK)
