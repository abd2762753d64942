"""A handler of requests -> a real server on loopback, for tests; every byte it sends is the test's.

The handler gets the request as text and the streams, and writes whatever it likes.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import NamedTuple

Handler = Callable[[str, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[bool]]
"""Called once per request; returns whether to wait for another one on the connection."""


class PlainSite(NamedTuple):
    """A running server."""

    address: str
    port: int
    connections: list[int]  # one entry per connection: how many requests it carried

    def url(self, path: str, name: str | None = None, scheme: str = "http") -> str:
        host = name or (f"[{self.address}]" if ":" in self.address else self.address)
        return f"{scheme}://{host}:{self.port}{path}"


@contextlib.asynccontextmanager
async def serving(
    handler: Handler, address: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None
) -> AsyncIterator[PlainSite]:
    connections: list[int] = []
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        number = len(connections)
        connections.append(0)
        try:
            await _conduct(handler, reader, writer, connections, number)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError, ssl.SSLError):
            pass
        finally:
            writer.transport.abort()
            tasks.discard(task)

    server = await asyncio.start_server(
        serve, address, port, ssl=tls, ssl_handshake_timeout=5 if tls else None
    )
    try:
        yield PlainSite(address, server.sockets[0].getsockname()[1], connections)
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)


async def _conduct(
    handler: Handler,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    connections: list[int],
    number: int,
) -> None:
    going_on = True
    while going_on:
        head = await reader.readuntil(b"\r\n\r\n")
        connections[number] += 1
        going_on = await handler(head.decode("latin-1"), reader, writer)


def path_of(head: str) -> str:
    return head.split(" ", 2)[1]


def field_of(head: str, name: str) -> str | None:
    """A header field of a request."""
    for line in head.split("\r\n")[1:]:
        key, _, value = line.partition(":")
        if key.lower() == name:
            return value.strip()
    return None


def answer(body: bytes = b"", status: int = 200, *fields: str, length: int | None = None) -> bytes:
    """A well-formed answer, unless the fields make it otherwise."""
    lines = [f"HTTP/1.1 {status} Whatever", *fields]
    if not any(field.lower().startswith(("content-length", "transfer-encoding")) for field in fields):
        lines.append(f"content-length: {len(body) if length is None else length}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body
