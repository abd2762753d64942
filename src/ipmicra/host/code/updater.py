"""Orders to upgrade -> other code on the same state, watched until it has proved itself or is rolled
back.

Invariant: a bundle is verified before it is unpacked, and unpacked before anything is stopped. A version
that fails leaves the good one running and is never tried again. The owner's installed code runs while
nothing was dispatched, and when everything dispatched has failed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from ipmicra.crawler.frontier import Counts
from ipmicra.host.code.health import (
    ORDINARY_RULES,
    TrialObservation,
    TrialRules,
    TrialVerdict,
    verdict,
)
from ipmicra.host.code.slots import Running, Slots
from ipmicra.host.sandbox.code import Code
from ipmicra.protocol.bundle_format import BadBundle
from ipmicra.protocol.bundle_trust import Bundles
from ipmicra.protocol.host_messages import CodeReport

FOLDER = "code"  # in the host's folder
ROOT_FILE = "root.json"  # in it: the root of trust that the owner accepted
CHECK_SECONDS = 0.5


class UpdatableCrawler(Protocol):
    """A crawler whose code can be changed."""

    last_status_at: float  # monotonic time of its latest status update
    exits: int  # how often its code has exited by itself
    last_exit: str

    @property
    def is_working(self) -> bool: ...

    @property
    def pages_by_code(self) -> int: ...  # fetched since the present code started

    def counts(self) -> Counts: ...

    async def change_code(self, code: Code) -> None: ...


class CodeUpdater:
    """The code that was dispatched to one host."""

    def __init__(
        self,
        folder: Path,
        bundles: Bundles,
        installed: Code,
        note: Callable[[str], None],
        rules: TrialRules = ORDINARY_RULES,
    ) -> None:
        self._slots = Slots(folder)
        self._bundles, self._installed, self._note, self._rules = bundles, installed, note, rules
        self._refused_unrun: dict[str, str] = {}  # refused in this process without a trial
        self._crawler: UpdatableCrawler | None = None
        self._trial: _Trial | None = None
        self._changing = asyncio.Lock()
        self._running = self._slots.start_next()

    def code(self) -> Code:
        """The code to start now."""
        running = self._running
        if running is None:
            return self._installed
        return self._installed._replace(
            folder=running.folder, program=running.program, version=running.version
        )

    def attach(self, crawler: UpdatableCrawler) -> None:
        """The crawler that runs `code`."""
        self._crawler = crawler
        self._begin_trial()

    async def upgrade(self, version: str) -> str:
        """Fetch, verify and try a version. Returns the reason for a refusal, or an empty text. Raises
        HostFault if the coordinator is unavailable.
        """
        assert self._crawler is not None
        async with self._changing:
            if self._running is not None and self._running.version == version:
                return ""
            try:
                data = await asyncio.to_thread(self._bundles.fetch, version)
                await asyncio.to_thread(self._slots.stage, version, data)
            except BadBundle as bad:
                self._refused_unrun[version] = str(bad)
                self._note(f"version {version} of the crawler's code is refused: {bad}")
                return str(bad)
            self._note(f"version {version} of the crawler's code is tried: {len(data):,} bytes")
            await self._switch_code()
        return ""

    async def watch(self) -> None:
        """Until cancelled: keep what proves healthy, roll back what does not."""
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            if self._trial is not None:
                async with self._changing:
                    await self._check_trial()

    def report(self) -> CodeReport:
        refused = {refusal.version: refusal.reason for refusal in self._slots.state.refused}
        return CodeReport(
            version=self._slots.version,
            trial="" if self._trial is None else self._trial.version,
            refused=tuple((refused | self._refused_unrun).items()),
            ends_today=0 if self._crawler is None else self._crawler.exits,
            takes_bundles=True,
        )

    async def _check_trial(self) -> None:
        if self._trial is None:
            return
        verdict_now, why = verdict(self._trial.observation(), self._rules)
        if verdict_now is TrialVerdict.HEALTHY:
            self._slots.mark_healthy()
            self._trial = None
            self._running = self._slots.good_code()
            self._note(f"version {self._slots.version} of the crawler's code has proved healthy")
        elif verdict_now is TrialVerdict.FAILED:
            self._note(f"version {self._trial.version} of the crawler's code failed: {why}")
            self._slots.mark_failed(why)
            await self._switch_code()

    async def _switch_code(self) -> None:
        """Run the code that the slots name next."""
        assert self._crawler is not None
        self._running = self._slots.start_next()
        await self._crawler.change_code(self.code())
        self._begin_trial()

    def _begin_trial(self) -> None:
        running, crawler = self._running, self._crawler
        on_trial = running is not None and running.is_trial and crawler is not None
        self._trial = _Trial(running, crawler) if on_trial else None  # type: ignore[arg-type]  # both are there


class _Trial:
    """One try of one version: counts only the time in which it was allowed to work."""

    def __init__(self, running: Running, crawler: UpdatableCrawler) -> None:
        self.version = running.version
        self._crawler = crawler
        self._ends, self._begun_at = crawler.exits, time.monotonic()
        self._observed_at, self._age_s = self._begun_at, 0.0
        self._answered_s: float | None = None

    def observation(self) -> TrialObservation:
        now = time.monotonic()
        if self._crawler.is_working:
            self._age_s += now - self._observed_at
        self._observed_at = now
        if self._crawler.last_status_at > self._begun_at:
            self._answered_s = self._age_s - (now - self._crawler.last_status_at)
        return TrialObservation(
            age_s=self._age_s,
            answered_s=self._answered_s,
            has_ended=self._crawler.exits > self._ends,
            ending=self._crawler.last_exit,
            pages_done=self._crawler.pages_by_code,
            pages_waiting=self._crawler.counts().pending,
        )
