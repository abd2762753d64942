"""The steps of one response -> their result, with every job parsed and the event loop free in between.

Invariant: while this process works on a page, the page's name is in a file that outlives the process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import TypeVar

from ipmicra.crawler.parsing.in_progress import InProgress
from ipmicra.crawler.parsing.jobs import ParsedPage, ParseJob
from ipmicra.crawler.parsing.pool import ParserPool
from ipmicra.model.urls import Url

T = TypeVar("T")
Steps = Generator[ParseJob | None, ParsedPage, T]


class StepRunner:
    def __init__(self, parsers: ParserPool, in_progress: InProgress) -> None:
        self._parsers, self._in_progress = parsers, in_progress

    async def run(self, url: Url, steps: Steps[T]) -> T:
        """Raises ParserKilled."""
        parsed: ParsedPage | None = None
        while True:
            try:
                with self._in_progress.of(url):
                    wanted = self._advance(steps, parsed)
            except StopIteration as end:
                result: T = end.value
                return result
            parsed = None
            if wanted is None:
                await asyncio.sleep(0)
            else:
                parsed = await self._parsers.parse(wanted)

    def _advance(self, steps: Steps[T], parsed: ParsedPage | None) -> ParseJob | None:
        """To the next job that takes long, or to where others may run. Raises StopIteration at the end."""
        wanted = next(steps) if parsed is None else steps.send(parsed)
        while wanted is not None and self._parsers.parses_at_once(wanted):
            wanted = steps.send(self._parsers.parse_now(wanted))
        return wanted
