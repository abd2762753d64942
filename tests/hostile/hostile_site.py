"""The hostile site: every prank of the table behind one server, with a front page that links to all.

Beside the table: redirects (in circles, without end, to where nobody may go), resets at each byte, a site
without end. `expected` says what must be recorded for each path, so that a whole crawl can be judged.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import struct
from collections.abc import AsyncIterator
from typing import NamedTuple

from ipmicra.model.failures import FailureKind
from ipmicra.testing.plain_site import PlainSite, answer, path_of, serving
from tests.hostile.pranks import HTML, Prank, pranks, says

VICTIM = answer(b"<p>an ordinary page", 200, HTML)
REDIRECTS = {
    "/circle": "/circle",
    "/ping": "/pong",
    "/pong": "/ping",
    "/to-private": "http://10.0.0.1/",
    "/to-metadata": "http://169.254.169.254/latest/meta-data/",
    "/to-other-loopback": "http://127.0.0.2/",
    "/to-hex-loopback": "http://0x7f000002/",
    "/to-mapped": "http://[::ffff:10.0.0.1]/",
    "/to-nat64": "http://[64:ff9b::a00:1]/",
    "/to-6to4": "http://[2002:a00:1::1]/",
    "/to-mail": "http://127.0.0.1:25/",
    "/to-file": "file:///etc/passwd",
}
REDIRECT_OUTCOMES = {
    "/circle": FailureKind.REDIRECT_LOOP,
    "/ping": FailureKind.REDIRECT_LOOP,
    "/pong": FailureKind.REDIRECT_LOOP,
    "/to-mail": FailureKind.REFUSED_PORT,
    "/to-file": FailureKind.BAD_URL,
    "/onwards/0": FailureKind.REDIRECTS_TOO_MANY,
}


class HostileSite(NamedTuple):
    site: PlainSite
    expected: dict[str, FailureKind | str]  # by path, redirects followed

    def url(self, path: str) -> str:
        return self.site.url(path)


@contextlib.asynccontextmanager
async def hostile_site(address: str = "127.0.0.1", port: int = 0) -> AsyncIterator[HostileSite]:
    table = pranks()
    expected = {path: prank.outcome for path, prank in table.items()} | _other_outcomes()
    front_page = _front_page(sorted(expected))

    async def handle(head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        path = path_of(head)
        prank = table.get(path) or _made_up(path) or Prank(says(_ordinary(path, front_page)), "whole")
        await prank.play(writer)
        return not writer.is_closing()

    async with serving(handle, address, port) as site:
        yield HostileSite(site, expected)


def _other_outcomes() -> dict[str, FailureKind | str]:
    redirects = {path: REDIRECT_OUTCOMES.get(path, FailureKind.REFUSED_ADDRESS) for path in REDIRECTS}
    resets = {f"/reset-at/{count}": FailureKind.RESET for count in range(len(VICTIM))}
    return {**redirects, **resets, "/onwards/0": FailureKind.REDIRECTS_TOO_MANY, "/ordinary": "whole"}


def _front_page(paths: list[str]) -> bytes:
    links = "".join(f'<a href="{path}">{path}</a>\n' for path in paths)
    return answer(f"<title>hostile</title>{links}".encode(), 200, HTML)


def _ordinary(path: str, front_page: bytes) -> bytes:
    if path in REDIRECTS:
        return answer(b"", 302, f"location: {REDIRECTS[path]}")
    if onwards := re.fullmatch(r"/onwards/(\d+)", path):
        return answer(b"", 301, f"location: /onwards/{int(onwards[1]) + 1}")
    if deeper := re.fullmatch(r"/maze/(\d+)", path):
        number = int(deeper[1])
        return answer(
            f'<a href="/maze/{2 * number}"><a href="/maze/{2 * number + 1}">'.encode(), 200, HTML
        )
    if path == "/robots.txt":
        return answer(b"", 404)
    return front_page if path == "/" else VICTIM


def _made_up(path: str) -> Prank | None:
    reset = re.fullmatch(r"/reset-at/(\d+)", path)
    return None if reset is None else Prank(_ResettingAt(int(reset[1])), FailureKind.RESET)


class _ResettingAt:
    """Sends so many bytes of an ordinary answer, then resets the connection."""

    def __init__(self, count: int) -> None:
        self._count = count

    async def __call__(self, writer: asyncio.StreamWriter) -> None:
        writer.write(VICTIM[: self._count])
        await writer.drain()
        sock = writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.close()
