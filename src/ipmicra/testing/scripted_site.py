"""Answers by path -> a real web server on loopback that gives them, and says how many it gave at once.

Invariant: it answers If-None-Match and If-Modified-Since with 304, and HEAD without a body.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping

from ipmicra.testing.plain_site import answer, field_of, path_of, serving
from ipmicra.testing.scripted_fetcher import ScriptedAnswer

SECONDS_TO_ANSWER = 0.001  # so that requests at once overlap


class ScriptedSite:
    """What the site has to say, and what was asked of it."""

    def __init__(self, answers: Mapping[str, ScriptedAnswer]) -> None:
        self.base_url = ""
        self.running_max = 0  # requests at once
        self._answers = answers
        self._running = 0

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[ScriptedSite]:
        async with serving(self._handle) as site:
            self.base_url = site.url("")
            yield self

    async def _handle(
        self, head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        self._running += 1
        self.running_max = max(self._running, self.running_max)
        await asyncio.sleep(SECONDS_TO_ANSWER)
        self._running -= 1
        writer.write(_written(head, self._answers[path_of(head)]))
        await writer.drain()
        return True


def _written(head: str, scripted: ScriptedAnswer) -> bytes:
    fields = dict(scripted.headers)
    lines = [f"{key}: {value}" for key, value in scripted.headers]
    tag, date = field_of(head, "if-none-match"), field_of(head, "if-modified-since")
    if (tag and tag == fields.get("etag")) or (date and date == fields.get("last-modified")):
        return answer(b"", 304, *lines)
    whole = answer(scripted.body, scripted.status, *lines)
    return whole.removesuffix(scripted.body) if head.startswith("HEAD") else whole
