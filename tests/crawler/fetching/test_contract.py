"""The real and the scripted fetcher keep one contract."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping

import pytest
import uvloop

from ipmicra.crawler.fetching.settings import FetchingSettings
from ipmicra.crawler.fetching.web_fetcher import WebFetcher
from ipmicra.testing import FETCHER, FetcherBench, FetcherWorld, ScriptedAnswer, ScriptedFetcher
from ipmicra.testing.fetcher_contract import loopback_world
from ipmicra.testing.scripted_site import ScriptedSite

LOOPBACK = FetchingSettings(open_ranges=("127.0.0.0/8", "::1/128"))
BASE_URL = "http://scripted.org"


@contextlib.asynccontextmanager
async def scripted_world(answers: Mapping[str, ScriptedAnswer]) -> AsyncIterator[FetcherWorld]:
    script = {BASE_URL + path: answer for path, answer in answers.items()}
    async with ScriptedFetcher(script) as fetcher:
        yield FetcherWorld(fetcher, BASE_URL, lambda: fetcher.running_max)


web_world = loopback_world(lambda: WebFetcher(LOOPBACK, "test"))

FETCHERS = {
    "scripted": FetcherBench(scripted_world),
    "web": FetcherBench(web_world),
    "web on uvloop": FetcherBench(web_world, uvloop.run),
}


@pytest.mark.parametrize("fetcher", FETCHERS)
@pytest.mark.parametrize("promise", FETCHER.promises)
def test_every_fetcher_keeps_its_promises(fetcher: str, promise: str) -> None:
    FETCHER.check_promise(promise, lambda: contextlib.nullcontext(FETCHERS[fetcher]))


def test_check_fetcher_serves_the_pages_from_a_real_web_server() -> None:
    async def fetch() -> bytes:
        async with ScriptedSite({"/": ScriptedAnswer(b"here")}).serving() as site:
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", int(site.base_url.rpartition(":")[2])
            )
            writer.write(b"GET / HTTP/1.1\r\nhost: here\r\n\r\n")
            response = await reader.readuntil(b"here")
            writer.close()
            return response

    assert asyncio.run(fetch()).startswith(b"HTTP/1.1 200 ")
