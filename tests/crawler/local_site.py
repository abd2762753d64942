"""A small real web server on loopback that serves a table; it records the time of each request."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple


class Answer(NamedTuple):
    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = {}
    seconds: float = 0.0  # of thinking before the answer


class Asked(NamedTuple):
    host: str
    path: str
    at: float
    headers: Mapping[str, str]


def html(*links: str, title: str = "page", text: str = "", head: str = "") -> Answer:
    anchors = " ".join(f'<a href="{link}">{link}</a>' for link in links)
    body = f"<html><head><title>{title}</title>{head}</head><body><p>{text}</p>{anchors}</body></html>"
    return Answer(body.encode(), headers={"Content-Type": "text/html; charset=utf-8"})


Pages = Mapping[str, Answer] | Callable[["Asked"], Answer]


class LocalSite:
    """Serves `pages` by path; every other path is a 404."""

    def __init__(self, pages: Pages) -> None:
        self.pages = pages
        self.asked: list[Asked] = []
        self.at_once = 0
        self.at_once_most = 0
        self.port = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def paths(self) -> list[str]:
        return [asked.path for asked in self.asked]

    @asynccontextmanager
    async def serving(self, address: str = "127.0.0.1", port: int = 0) -> AsyncIterator[LocalSite]:
        server = await asyncio.start_server(self._serve, address, port)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            await server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (asked := await self._read(reader)) is not None:
                self.asked.append(asked)
                self.at_once += 1
                self.at_once_most = max(self.at_once, self.at_once_most)
                try:
                    await self._answer(asked, writer)
                finally:
                    self.at_once -= 1
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> Asked | None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        except asyncio.IncompleteReadError:
            return None
        first, *lines = head.strip().split("\r\n")
        headers = {
            name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
        }
        return Asked(headers.get("host", ""), first.split(" ")[1], time.time(), headers)

    async def _answer(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        if callable(self.pages):
            answer = self.pages(asked)
        else:
            answer = self.pages.get(asked.path, Answer(b"not here", 404))
        if answer.seconds:
            await asyncio.sleep(answer.seconds)
        headers = {"Content-Length": str(len(answer.body)), **answer.headers}
        lines = [
            f"HTTP/1.1 {answer.status} ANSWER",
            *(f"{name}: {value}" for name, value in headers.items()),
        ]
        writer.write("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + answer.body)
        await writer.drain()
