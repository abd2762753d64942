"""The context of every handler: database, package store, settings, clock, poll notifier and leader
wake-up.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import ParamSpec, TypeVar

from ipmicra.coordinator.api.poll_notifier import PollNotifier
from ipmicra.coordinator.api.steady_clock import SteadyClock
from ipmicra.coordinator.settings import CoordinatorSettings
from ipmicra.coordinator.store.package_bytes.file_store import PackageStore
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.delegation.subnets import SubnetLookup
from ipmicra.net.bounded_pool import BoundedPool

THREADS = 8  # as many as the PostgreSQL pool has connections; SQLite has one writer anyway

QUESTION_THREADS = 3
QUESTIONS_WAITING_MAX = 100

ThreadArguments = ParamSpec("ThreadArguments")
ThreadResult = TypeVar("ThreadResult")


@dataclass
class CoordinatorContext:
    """The parts of one running coordinator."""

    database: Database
    store: PackageStore
    tree: SubnetLookup
    settings: CoordinatorSettings
    name: str
    bundles: Path | None = None  # the folder of signed bundles; None: none are given out
    spool_folder: Path | None = None  # for large bodies while they arrive; None: the system's
    contact: str = ""  # contact for owners of sites; hosts put it into their User-Agent
    searches_per_second_max: float = 0.0  # from one client; 0: no limit
    clock: Callable[[], float] = field(default_factory=SteadyClock)
    poll_notifier: PollNotifier = field(default_factory=PollNotifier)
    leader_wakeup: threading.Event = field(
        default_factory=threading.Event
    )  # something for the leader to read
    is_leader: Callable[[], bool] = lambda: False
    index_figures: Callable[[], tuple[int, int] | None] = lambda: None  # pages, bytes
    questions: BoundedPool = field(  # expensive questions of people, apart from what hosts need
        default_factory=lambda: BoundedPool("questions", QUESTION_THREADS, QUESTIONS_WAITING_MAX)
    )
    _threads: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(THREADS, thread_name_prefix="rows")
    )

    async def run_in_thread(
        self,
        work: Callable[ThreadArguments, ThreadResult],
        *positional: ThreadArguments.args,
        **named: ThreadArguments.kwargs,
    ) -> ThreadResult:
        """Do what waits for the database or the disk in a thread."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, lambda: work(*positional, **named))

    def close(self) -> None:
        self.questions.close()
        self._threads.shutdown()
        self.database.close()
