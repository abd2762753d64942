"""Agents of a box, from outside: start them, ask them, many questions at once.

async with Agents(box, folder) as agents:
    found = await agents.probe("crawler-00", address, site)
"""

from __future__ import annotations

import asyncio
import itertools
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import msgspec

from ipmicra.errors import OurFault
from ipmicra.lab.box.agents.framing import READY, read_frame, write_frame
from ipmicra.lab.box.agents.messages import (
    AgentCommand,
    AgentResult,
    CommandResult,
    CrawlCommand,
    Crawled,
    DownloadCommand,
    Downloaded,
    Numbered,
    ProbeCommand,
    ProbedRoundTrips,
)
from ipmicra.lab.box.box import NetworkBox
from ipmicra.probing.settings import ProbeMethod


class AgentHandle:
    """One agent's process, and the questions it has not answered yet."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], plug: socket.socket) -> None:
        self.name, self.process, self._plug = name, process, plug
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[AgentResult]] = {}
        self._listening: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        self._reader, self._writer = await asyncio.open_connection(sock=self._plug)
        if await read_frame(self._reader) != READY:
            raise OurFault(f"the agent of {self.name} did not start; see its log")
        self._listening = asyncio.create_task(self._listen())

    async def ask(self, wish: AgentCommand) -> AgentResult:
        number = next(self._numbers)
        future = self._waiting[number] = asyncio.get_running_loop().create_future()
        write_frame(self._writer, msgspec.msgpack.encode(Numbered(number, wish)))
        await self._writer.drain()
        found: AgentResult = await future
        return found

    async def close(self) -> None:
        self.process.kill()
        self.process.wait()
        if self._listening is None:
            self._plug.close()
        else:
            self._writer.close()
            await self._listening

    async def _listen(self) -> None:
        while (frame := await read_frame(self._reader)) is not None:
            answer = msgspec.msgpack.decode(frame, type=CommandResult)
            self._waiting.pop(answer.number).set_result(answer.found)
        for future in self._waiting.values():
            future.set_exception(OurFault(f"the agent of {self.name} has died; see its log"))


class Agents:
    """An agent in every crawler's namespace, and one where the coordinator stands."""

    CENTRAL = "coordinator"

    def __init__(self, box: NetworkBox, folder: Path) -> None:
        self._box, self._folder = box, folder
        self._handles: dict[str, AgentHandle] = {}
        self._logs: list[IO[bytes]] = []

    async def __aenter__(self) -> Self:
        for name in [self.CENTRAL, *(crawler.name for crawler in self._box.world.file.crawlers)]:
            self._handles[name] = self._start(name)
        try:
            for handle in self._handles.values():
                await handle.connect()
        except BaseException:
            await self.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for handle in self._handles.values():
            await handle.close()
        for log in self._logs:
            log.close()

    async def probe(
        self, crawler: str, address: str, site: str, way: ProbeMethod = "connect"
    ) -> ProbedRoundTrips:
        found = await self._handles[crawler].ask(ProbeCommand(address=address, site=site, way=way))
        assert isinstance(found, ProbedRoundTrips)
        return found

    async def download(self, crawler: str, url: str) -> Downloaded:
        found = await self._handles[crawler].ask(DownloadCommand(url=url))
        assert isinstance(found, Downloaded)
        return found

    async def crawl(self, crawler: str, sites: Sequence[str], at_once: int, folder: Path) -> Crawled:
        wish = CrawlCommand(sites=tuple(sites), at_once=at_once, folder=str(folder))
        found = await self._handles[crawler].ask(wish)
        assert isinstance(found, Crawled)
        return found

    def _start(self, name: str) -> AgentHandle:
        box = self._box
        where = box.coordinator if name == self.CENTRAL else box.crawler(name)
        log = (self._folder / f"agent-{name}.log").open("ab")
        self._logs.append(log)
        ours, its = socket.socketpair()
        names = box.world.file.names_address
        line = [sys.executable, "-m", "ipmicra.lab.box.agents.process", str(its.fileno()), names]
        with its:
            process = where.start(line, stdout=log, stderr=log, pass_fds=[its.fileno()])
        return AgentHandle(name, process, ours)
