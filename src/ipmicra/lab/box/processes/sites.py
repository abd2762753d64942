"""A world file -> all its sites and its name server: the process in the sites' namespace.

    python -m ipmicra.lab.box.processes.sites WORLD.toml LOG

One listener on port 80 answers for every address; the Host field says which site is meant.
Every request is a line of the log: time (s), client, site, method, path, status, with tabs between.
Prints "ready" when it listens; ends with SIGTERM or when its starter dies.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, cast

import uvloop

from ipmicra.lab.box.kernel.priority import in_real_time
from ipmicra.lab.box.processes.control_channel import SERVER_PRIORITY
from ipmicra.lab.box.world.box_world import BoxWorld
from ipmicra.lab.box.world.web import BoxNameServer, made_web
from ipmicra.lab.box.world.world_file import read_world
from ipmicra.lab.loopback.answers import answer_to
from ipmicra.lab.loopback.names import NameServer
from ipmicra.lab.loopback.pages import MadeSite

PORT, NAMES_PORT = 80, 53
BACKLOG = 8192
HEAD_BYTES_MAX = 16_384
LOG_SECONDS = 0.1  # between two times that the log is written out
END_OF_HEAD = b"\r\n\r\n"

Note = Callable[[str, str, str, str, int], None]  # asker, site, method, path, status


class SiteVisit(asyncio.Protocol):
    """One connection: requests one after another, each answered after the site's thinking time."""

    def __init__(self, web: dict[str, MadeSite], think_s: dict[str, float], note: Note) -> None:
        self._web, self._think_s, self._note = web, think_s, note
        self._waiting = b""
        self._transport: asyncio.Transport | None = None
        self._asker = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._asker = str(transport.get_extra_info("peername")[0]).removeprefix("::ffff:")

    def data_received(self, data: bytes) -> None:
        self._waiting += data
        while END_OF_HEAD in self._waiting:
            head, _, self._waiting = self._waiting.partition(END_OF_HEAD)
            self._answer(head)
        if len(self._waiting) > HEAD_BYTES_MAX and self._transport is not None:
            self._transport.abort()

    def _answer(self, head: bytes) -> None:
        site = self._web.get(_host(head))
        if site is None:
            self._send(b"HTTP/1.1 421 Other\r\nContent-Length: 0\r\n\r\n")
            return
        answer = answer_to(site, head)
        self._note(self._asker, site.name, answer.method, answer.path, answer.status)
        think_s = self._think_s[site.name]
        if think_s:
            asyncio.get_running_loop().call_later(think_s, self._send, answer.data)
        else:
            self._send(answer.data)

    def _send(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)


def _host(head: bytes) -> str:
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"host":
            return value.strip().partition(b":")[0].decode("latin-1").lower()
    return ""


async def serve(world: BoxWorld, log: IO[str]) -> None:
    web = made_web(world)
    think_s = {site.name: site.think_ms / 1e3 for site in world.file.sites}

    def note(*fields: object) -> None:
        log.write("\t".join(map(str, (f"{time.monotonic():.6f}", *fields))) + "\n")

    loop = asyncio.get_running_loop()
    await loop.create_server(lambda: SiteVisit(web, think_s, note), None, PORT, backlog=BACKLOG)
    names = BoxNameServer(world)
    await loop.create_datagram_endpoint(
        lambda: NameServer(names.seen_from), local_addr=(world.file.names_address, NAMES_PORT)
    )
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        await asyncio.sleep(LOG_SECONDS)
        log.flush()


def main(arguments: list[str]) -> None:
    world_file, log_file = map(Path, arguments)
    in_real_time(SERVER_PRIORITY)
    with log_file.open("a", encoding="utf-8") as log:
        uvloop.run(serve(read_world(world_file), log))


if __name__ == "__main__":
    main(sys.argv[1:])
