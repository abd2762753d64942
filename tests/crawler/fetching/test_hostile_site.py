"""The hostile site is visited to the end: every outcome is a kind, and memory stays flat."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
import uvloop

from ipmicra.crawler.fetching.redirects import follow
from ipmicra.crawler.fetching.settings import FetchingSettings
from ipmicra.crawler.fetching.web_fetcher import WebFetcher
from ipmicra.model.failures import FailureKind
from ipmicra.model.fetches import Fetched, FetchOutcome, FetchRequest
from tests.hostile.hostile_site import HostileSite, hostile_site
from tests.hostile.peak_memory import rise_of_memory

HASTY = FetchingSettings(
    open_ranges=("127.0.0.1/32",),
    connect_ms_max=2_000,
    first_byte_ms_max=600,
    total_ms_max=2_500,
    rate_grace_ms=700,
    rate_bytes_per_second_min=2_000,
    body_bytes_max=256 << 10,
)


def word_for(outcome: FetchOutcome) -> FailureKind | str:
    if isinstance(outcome, Fetched):
        return "truncated" if outcome.truncated else "whole"
    return outcome.kind


async def visited(hostile: HostileSite, settings: FetchingSettings) -> dict[str, FailureKind | str]:
    async with WebFetcher(settings, "test") as fetcher:

        async def visit(path: str) -> FailureKind | str:
            request = FetchRequest(url=hostile.url(path), connections_max=20)
            return word_for((await follow(fetcher, request)).outcome)

        words = await asyncio.gather(*(visit(path) for path in hostile.expected))
    return dict(zip(hostile.expected, words, strict=True))


async def visit_all() -> tuple[dict[str, FailureKind | str], dict[str, FailureKind | str], int]:
    async with hostile_site() as hostile:
        with rise_of_memory() as rise:
            words = await visited(hostile, HASTY)
        return words, hostile.expected, rise.bytes


@pytest.mark.parametrize("run", [uvloop.run, asyncio.run], ids=["uvloop", "asyncio"])
def test_every_prank_has_its_outcome_and_memory_stays_flat(run: Callable[..., Any]) -> None:
    words, expected, rise_bytes = run(visit_all())
    assert {path: word for path, word in words.items() if word != expected[path]} == {}
    assert rise_bytes < 16 << 20


def test_the_site_is_still_polite_to_others_after_all_that() -> None:
    async def act() -> None:
        async with hostile_site() as hostile, WebFetcher(HASTY, "test") as fetcher:
            for path in (
                "/longer-than-its-length",
                "/ordinary",
                "/reset-at/3",
                "/ordinary",
                "/ordinary",
            ):
                outcome = await fetcher.fetch(FetchRequest(url=hostile.url(path)))
            assert isinstance(outcome, Fetched)
            assert (outcome.body, outcome.reused) == (b"<p>an ordinary page", True)

    asyncio.run(act())


def test_inflating_never_makes_more_than_the_cap() -> None:
    """A bomb of 64 MiB, met with a cap of 1 MiB, costs the process less than 10 MiB."""
    settings = msgspec.structs.replace(HASTY, body_bytes_max=1 << 20)

    async def act() -> int:
        async with hostile_site() as hostile, WebFetcher(settings, "test") as fetcher:
            with rise_of_memory() as rise:
                for path in ("/bomb-gzip", "/bomb-br", "/bomb-zstd", "/bomb-nested", "/bomb-mixed"):
                    outcome = await fetcher.fetch(FetchRequest(url=hostile.url(path)))
                    assert word_for(outcome) is FailureKind.INFLATE_BOMB
            return rise.bytes

    assert asyncio.run(act()) < 10 << 20
