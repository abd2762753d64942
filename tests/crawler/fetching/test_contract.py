"""The real and the scripted fetcher keep one contract."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping

import uvloop

from ipmicra.crawler.fetching.settings import FetchingSettings
from ipmicra.crawler.fetching.web_fetcher import WebFetcher
from tests.crawler.fetching.fetcher_contract import FetcherContract, World
from tests.crawler.fetching.scripted_fetcher import Answer, ScriptedFetcher
from tests.hostile.plain_site import answer, field_of, path_of, serving

LOOPBACK = FetchingSettings(open_ranges=("127.0.0.0/8", "::1/128"))


class TestScriptedFetcher(FetcherContract):
    @contextlib.asynccontextmanager
    async def world(self, answers: Mapping[str, Answer]) -> AsyncIterator[World]:
        base_url = "http://scripted.org"
        script = {base_url + path: answer for path, answer in answers.items()}
        async with ScriptedFetcher(script) as fetcher:
            yield World(fetcher, base_url, lambda: fetcher.running_max)


class TestWebFetcher(FetcherContract):
    @contextlib.asynccontextmanager
    async def world(self, answers: Mapping[str, Answer]) -> AsyncIterator[World]:
        running, running_max = 0, 0

        async def handle(head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
            nonlocal running, running_max
            running += 1
            running_max = max(running, running_max)
            await asyncio.sleep(0.001)
            running -= 1
            writer.write(_written(head, answers[path_of(head)]))
            await writer.drain()
            return True

        async with serving(handle) as site, WebFetcher(LOOPBACK, "test") as fetcher:
            yield World(fetcher, site.url(""), lambda: running_max)


class TestWebFetcherOnUvloop(TestWebFetcher):
    run = staticmethod(uvloop.run)


def _written(head: str, scripted: Answer) -> bytes:
    fields = dict(scripted.headers)
    lines = [f"{key}: {value}" for key, value in scripted.headers]
    tag, date = field_of(head, "if-none-match"), field_of(head, "if-modified-since")
    if (tag and tag == fields.get("etag")) or (date and date == fields.get("last-modified")):
        return answer(b"", 304, *lines)
    whole = answer(scripted.body, scripted.status, *lines)
    return whole.removesuffix(scripted.body) if head.startswith("HEAD") else whole
