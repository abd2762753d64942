"""Jobs -> parsed pages: light ones at once, the others by processes that are killed when they take too long.

A process is started when it is first needed, and serves until it is killed or the pool is closed. Invariant:
a job has `seconds_max` and `bytes_max`; a process that exceeds either, or dies, ends with its job only, which
raises `ParserKilled`. So many bytes of bodies wait for a process; a further one raises `ParsersBusy`. Without
limits (`None`) no process may be started here, as in a sandbox: then all jobs are parsed at once, and whoever
started this process watches over it.
"""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, Process, create_subprocess_exec
from contextlib import suppress
from types import TracebackType
from typing import Self

import msgspec

from ipmicra.crawler.extraction.language import UsualLanguages
from ipmicra.crawler.parsing.frames import (
    FRAME_BYTES_MAX,
    LENGTH,
    Defect,
    Done,
    ParserReply,
    decode_reply,
    job_pieces,
)
from ipmicra.crawler.parsing.jobs import ParsedPage, ParseJob, parse
from ipmicra.crawler.parsing.weight import is_light
from ipmicra.errors import HostFault, OurFault

START_SECONDS_MAX = 60.0  # of a busy machine
PROCESSES_MAX = 2
WALL_FACTOR = (
    6  # the kernel counts the seconds of the processor; on a busy machine more pass by the clock
)
WAITING_BYTES_MAX = 16 << 20
STREAM_BYTES = 1 << 20


class ParserLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What one job may take."""

    seconds_max: float = 10.0
    bytes_max: int = 1 << 30


class ParserKilled(Exception):
    """The process of a job took too long or too much memory, or crashed."""


class ParsersBusy(Exception):
    """Too much is waiting for a process: come back later."""


class ParserPool:
    """The parsers of one crawler. Close it."""

    def __init__(self, limits: ParserLimits | None) -> None:
        self._limits = limits
        self._languages = UsualLanguages()
        self._idle: list[_ParserProcess] = []
        self._processes: set[_ParserProcess] = set()
        self._slots = asyncio.Semaphore(PROCESSES_MAX)
        self._waiting_bytes = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        for process in list(self._processes):
            await process.close()
        self._processes.clear()
        self._idle.clear()

    def parses_at_once(self, job: ParseJob) -> bool:
        """Whether `parse_now` is the way: the job is light, or there is no other."""
        return self._limits is None or is_light(job)

    def parse_now(self, job: ParseJob) -> ParsedPage:
        return parse(job, self._languages)

    async def parse(self, job: ParseJob) -> ParsedPage:
        """Raises ParserKilled and ParsersBusy."""
        if self._limits is None or is_light(job):
            return self.parse_now(job)
        await self._wait_for_slot(len(job.body))
        try:
            process = self._idle.pop() if self._idle else await self._start(self._limits)
            try:
                parsed = await process.parse(job, self._limits.seconds_max)
            except BaseException:
                self._processes.discard(process)
                await process.close()
                raise
            self._idle.append(process)
            return parsed
        finally:
            self._slots.release()

    async def _wait_for_slot(self, body_bytes: int) -> None:
        if self._slots.locked() and self._waiting_bytes + body_bytes > WAITING_BYTES_MAX:
            raise ParsersBusy
        self._waiting_bytes += body_bytes
        try:
            await self._slots.acquire()
        finally:
            self._waiting_bytes -= body_bytes

    async def _start(self, limits: ParserLimits) -> _ParserProcess:
        process = await _ParserProcess.start(limits)
        self._processes.add(process)
        return process


class _ParserProcess:
    """One process, with one job at a time."""

    def __init__(self, process: Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, limits: ParserLimits) -> _ParserProcess:
        words = ("-m", "ipmicra.crawler.parsing.process", str(limits.seconds_max), str(limits.bytes_max))
        process = cls(
            await create_subprocess_exec(
                sys.executable, *words, stdin=PIPE, stdout=PIPE, limit=STREAM_BYTES
            )
        )
        try:
            async with asyncio.timeout(START_SECONDS_MAX):
                await process._reply()
        except (TimeoutError, ParserKilled) as error:
            await process.close()
            raise HostFault(f"a parser process could not be started: {error}") from error
        except BaseException:
            await process.close()
            raise
        return process

    async def parse(self, job: ParseJob, seconds_max: float) -> ParsedPage:
        assert self._process.stdin is not None
        try:
            async with asyncio.timeout(WALL_FACTOR * seconds_max):
                for piece in job_pieces(job):
                    self._process.stdin.write(piece)
                    await self._process.stdin.drain()
                reply = await self._reply()
        except ConnectionError as error:
            raise ParserKilled(f"its parser ended: {error}") from error
        except TimeoutError:
            raise ParserKilled(f"it took longer than {WALL_FACTOR * seconds_max:g} s") from None
        if isinstance(reply, Defect):
            raise OurFault(reply.why)
        if not isinstance(reply, Done):
            raise ParserKilled("its parser sent another message than a page")
        return reply.parsed

    async def _reply(self) -> ParserReply:
        assert self._process.stdout is not None
        read = self._process.stdout.readexactly
        try:
            (length,) = LENGTH.unpack(await read(LENGTH.size))
            if length > FRAME_BYTES_MAX:
                raise ParserKilled(f"its parser sent a frame of {length} bytes")
            reply: ParserReply = decode_reply(await read(length))
            return reply
        except (asyncio.IncompleteReadError, ConnectionError):
            code = await self._process.wait()
            raise ParserKilled(f"its parser ended with {code}") from None
        except msgspec.MsgspecError as error:
            raise ParserKilled(f"its parser sent an invalid message: {error}") from error

    async def close(self) -> None:
        """Kill it."""
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()
