"""One process of a shared crawl: stops on command, answers whether it is idle, and reports its progress.

Invariant: it ends by itself only when the page limit is reached or after a fault. If its supervisor is
gone, it stops, so nothing crawls unattended. Ctrl-C is handled by the supervisor.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import Synchronized
from typing import TypeAlias

import msgspec
import uvloop

from ipmicra.crawler.crawl import Crawl, CrawlRequest, tune_process
from ipmicra.crawler.engine import Engine
from ipmicra.crawler.frontier import Counts
from ipmicra.crawler.page_limit import PageLimit, SharedLimit
from ipmicra.crawler.progress import Progress
from ipmicra.crawler.settings import CrawlSettings
from ipmicra.errors import Fault

STOP, QUERY_IDLE = "stop", "idle?"


class WorkerReport(msgspec.Struct, frozen=True):
    """How far one process is."""

    progress: Progress
    counts: Counts


class IdleReply(msgspec.Struct, frozen=True):
    """The answer to an idle query; the mailbox items show whether the process was idle between two
    answers.
    """

    idle: bool
    items_moved: int  # sent and received so far


class WorkerFailed(msgspec.Struct, frozen=True):
    """Why a process gave up: the family of the fault, and its words."""

    fault: str
    message: str


WorkerMessage: TypeAlias = WorkerReport | IdleReply | WorkerFailed


def work(
    settings: CrawlSettings,
    request: CrawlRequest,
    left: Synchronized[int] | None,
    pipe: Connection,
    was_ended: bool = False,
) -> None:
    """The process's main function. `was_ended`: the one before it was killed since it did not answer."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    tune_process()
    limit = None if left is None else SharedLimit(left)
    try:
        progress, counts = uvloop.run(_Worker(Crawl(settings, request, was_ended), pipe).run(limit))
    except Fault as fault:
        with suppress(OSError):
            pipe.send(WorkerFailed(_family(fault), str(fault)))
        sys.exit(1)
    with suppress(OSError):
        pipe.send(WorkerReport(progress, counts))


def _family(fault: Fault) -> str:
    """The name of the fault's family: whose fault it is."""
    kinds = type(fault).__mro__
    return kinds[kinds.index(Fault) - 1].__name__


class _Worker:
    """A crawl whose engine is governed through a pipe."""

    def __init__(self, crawl: Crawl, pipe: Connection) -> None:
        self._crawl, self._pipe = crawl, pipe

    async def run(self, limit: PageLimit | None) -> tuple[Progress, Counts]:
        return await self._crawl.run(self._report, self._listen, limit)

    def _report(self, progress: Progress, counts: Counts) -> None:
        with suppress(OSError):  # the supervisor is gone: `_listen` will notice it too, and stop
            self._pipe.send(WorkerReport(progress, counts))

    def _listen(self, engine: Engine) -> None:
        loop = asyncio.get_running_loop()

        def on_message() -> None:
            try:
                message = self._pipe.recv()
            except (EOFError, OSError):
                loop.remove_reader(self._pipe.fileno())
                message = STOP
            if message == STOP:
                engine.stop()
            else:
                self._pipe.send(IdleReply(engine.is_idle(), engine.mailbox_items_moved()))

        loop.add_reader(self._pipe.fileno(), on_message)
