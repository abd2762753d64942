"""A crawl and a number of processes -> the processes, their figures summed up, and their end.

Invariant: the crawl is over when all processes, asked twice, were idle both times and no mailbox item
moved in between or waits. A process that dies ends the crawl: the others stop cleanly, and running it
again goes on. One that does not answer is killed, and started again without the page that it hung on.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from multiprocessing.sharedctypes import Synchronized

from ipmicra import errors
from ipmicra.crawler.crawl import Crawl, Share, crawl_names
from ipmicra.crawler.frontier import Counts
from ipmicra.crawler.multiprocess.worker import (
    QUERY_IDLE,
    STOP,
    IdleReply,
    WorkerFailed,
    WorkerMessage,
    WorkerReport,
    work,
)
from ipmicra.crawler.progress import Progress
from ipmicra.errors import HostFault, OperatorFault

SILENT_SECONDS_MAX = 30.0  # then a process is killed: no page is worked on for a tenth of a second
ASK_SECONDS = 0.1  # a crawl ends two questions after its last page; a question costs next to nothing


class _Member:
    """One process, and its last report."""

    def __init__(self, process: SpawnProcess, pipe: Connection, counts: Counts) -> None:
        self.process, self.pipe = process, pipe
        self.progress, self.counts = Progress(), counts
        self.idle_reply: IdleReply | None = None
        self.failed: WorkerFailed | None = None
        self.is_open = True
        self.silent_seconds = 0.0  # since it was last heard


class CrawlSupervisor:
    """The processes of one crawl. `run` it once; `stop` it from a signal handler."""

    def __init__(self, crawl: Crawl, processes: int) -> None:
        self._crawl = crawl
        self._shares = [Share(number, processes) for number in range(processes)]
        self._members: list[_Member] = []
        self._was_idle: list[IdleReply] | None = None
        self._stopping = False
        self._pages_left: Synchronized[int] | None = (
            None  # of the limit; it must live until all have started
        )

    def run(self, on_update: Callable[[Progress, Counts], None]) -> tuple[Progress, Counts]:
        """Crawl until done or stopped."""
        self._start()
        try:
            asked_at, looked_at = 0.0, time.monotonic()
            while any(member.is_open for member in self._members):
                self._receive()
                now = time.monotonic()
                self._restart_silent(min(now - looked_at, 2 * ASK_SECONDS))
                looked_at = now
                on_update(*self._totals())
                if time.monotonic() - asked_at >= ASK_SECONDS:
                    self._query_idle()
                    asked_at = time.monotonic()
        finally:
            for member in self._members:
                member.pipe.close()
                member.process.join()
        self._raise_failure()
        return self._totals()

    def stop(self) -> None:
        """Begin no further request."""
        self._stopping = True
        self._broadcast(STOP)

    def kill(self) -> None:
        """At once. Nothing is lost: what was not committed is fetched again."""
        for member in self._members:
            member.process.kill()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        counts = [self._counts_before(share) for share in self._shares]
        if self._crawl.request.pages_max is not None:
            fetched = sum(count.pages for count in counts)
            self._pages_left = context.Value("q", max(0, self._crawl.request.pages_max - fetched))
        for share, count in zip(self._shares, counts, strict=True):
            process, pipe = self._start_process(share)
            self._members.append(_Member(process, pipe, count))

    def _start_process(self, share: Share, was_ended: bool = False) -> tuple[SpawnProcess, Connection]:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        request = replace(self._crawl.request, share=share)
        process = context.Process(
            target=work, args=(self._crawl.settings, request, self._pages_left, theirs, was_ended)
        )
        process.start()
        theirs.close()
        return process, ours

    def _restart_silent(self, seconds: float) -> None:
        """Kill a process that has not answered for long, and start it again without the page in work.

        `seconds` is the time since the last look, if this process was not stopped itself meanwhile.
        """
        for member, share in zip(self._members, self._shares, strict=True):
            member.silent_seconds += seconds
            if not member.is_open or member.silent_seconds <= SILENT_SECONDS_MAX:
                continue
            member.process.kill()
            member.process.join()
            member.pipe.close()
            member.process, member.pipe = self._start_process(share, was_ended=True)
            member.silent_seconds, member.idle_reply = 0.0, None
            if self._stopping:
                self._broadcast(STOP)

    def _counts_before(self, share: Share) -> Counts:
        """How far the process was when it last ended."""
        with self._part(share).open_stores() as (frontier, _):
            return frontier.counts()

    def _part(self, share: Share) -> Crawl:
        return Crawl(self._crawl.settings, replace(self._crawl.request, share=share))

    def _receive(self) -> None:
        pipes = {member.pipe: member for member in self._members if member.is_open}
        for pipe in wait(list(pipes), timeout=ASK_SECONDS):
            member = pipes[pipe]  # type: ignore[index]  # wait() returns what it was given
            try:
                message: WorkerMessage = member.pipe.recv()
            except (EOFError, OSError):
                self._on_exit(member)
                continue
            member.silent_seconds = 0.0
            if isinstance(message, WorkerReport):
                member.progress, member.counts = message.progress, message.counts
            elif isinstance(message, IdleReply):
                member.idle_reply = message
            else:
                member.failed = message

    def _on_exit(self, member: _Member) -> None:
        """Handle the end of a process: done, stopped, or by a fault."""
        member.is_open = False
        member.process.join()
        if member.process.exitcode:
            self.stop()

    def _query_idle(self) -> None:
        """Judge the answers to the last question, and ask again."""
        answers = [member.idle_reply for member in self._members if member.is_open]
        if self._stopping or None in answers:
            pass
        elif all(answer is not None and answer.idle for answer in answers):
            quiet = [answer for answer in answers if answer is not None]
            if quiet == self._was_idle and self._crawl_is_quiet():
                self.stop()
            self._was_idle = quiet
        else:
            self._was_idle = None
        for member in self._members:
            member.idle_reply = None
        self._broadcast(QUERY_IDLE)

    def _crawl_is_quiet(self) -> bool:
        return self._part(self._shares[0]).mailbox().is_empty()

    def _broadcast(self, message: str) -> None:
        for member in self._members:
            if member.is_open:
                try:
                    member.pipe.send(message)
                except OSError:
                    continue  # it is ending: `_hear` will see

    def _totals(self) -> tuple[Progress, Counts]:
        progress = Progress()
        for member in self._members:
            progress.merge(member.progress)
        return progress, Counts(
            *(sum(column) for column in zip(*(m.counts for m in self._members), strict=True))
        )

    def _raise_failure(self) -> None:
        for member in self._members:
            if member.failed is not None:
                family = getattr(errors, member.failed.fault)
                raise family(member.failed.message)
            if member.process.exitcode:
                raise HostFault(
                    f"crawling {self._crawl.name}: a process of it ended with "
                    f"{member.process.exitcode}; nothing is lost, run it again"
                )


def check_same_processes(crawl: Crawl, processes: int) -> None:
    """Raise OperatorFault where the crawl was started with another number of processes."""
    for name in crawl_names(crawl.settings.data_folder):
        stem, _, share = name.rpartition(".")
        _, of, count = share.partition("of")
        if name == crawl.crawl_name:
            begun_with = 1
        elif stem == crawl.crawl_name and of and count.isdigit():
            begun_with = int(count)
        else:
            continue
        if begun_with != processes:
            raise OperatorFault(
                f"the crawl {crawl.crawl_name!r} was started with --processes {begun_with}, not "
                f"{processes}: the sites are divided among them; choose another --name for this "
                "one"
            )
