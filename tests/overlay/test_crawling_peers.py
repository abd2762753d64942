"""Peers crawl what falls to them, keep it twice, hand it over warm, and answer searches together."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

from ipmicra.overlay.live import asking
from ipmicra.overlay.live.frames import Seal
from ipmicra.search.contract import Request
from tests.overlay.crawling_peers import SECRET, Village, village

CORNERS = {"a": (-60.0, -60.0, 0.0), "b": (60.0, 60.0, 0.0), "c": (60.0, -60.0, 0.0)}


async def a_village_that_has_crawled(folder: Path) -> None:
    """One story, since crawling takes seconds: crawl, search, leave, die."""
    async with village(folder, sites=6, pages=5) as living:
        for name, point in CORNERS.items():
            living.add(name, point, None if name == "a" else "a")
        await living.until(lambda: all(node.peer.zones for node in living.nodes.values()), 20)
        await living.submit_all("b")
        await living.until(lambda: living.found_anywhere() == living.urls, 60)
        shares = [set(node.peer.book.crawled) for node in living.nodes.values()]
        assert sum(map(len, shares)) == 6 and all(shares), "every peer has sites, each site one peer"
        await living.until(lambda: all_kept_twice(living), 20)
        assert len(living.fetched()) == len(set(living.fetched())), "no page was fetched twice"

        asked = await asking.search(
            Request(text="lang:en", limit=100, per_site=0), living.address("c"), Seal(SECRET)
        )
        assert {hit.url for hit in asked.answer.hits} == living.urls
        assert (asked.peers_asked, asked.answer.partial) == (3, False)

        await living.leave("b")
        await living.until(lambda: crawled(living) == living.sites, 20)
        await asyncio.sleep(1)
        assert living.found_anywhere() == living.urls, "the leaver's pages are with those who stay"
        assert len(living.fetched()) == len(set(living.fetched())), "and were not fetched again"

        await living.end("c")
        await living.until(lambda: crawled(living) == living.sites, 20)
        await living.until(lambda: living.found("a") == living.urls, 40)


def all_kept_twice(living: Village) -> bool:
    counts = Counter(url for name in living.nodes for url in living.found(name))
    return set(counts) == living.urls and min(counts.values()) >= 2


def crawled(living: Village) -> list[str]:
    households = [node.household for node in living.nodes.values() if node.household is not None]
    return sorted(site for household in households for site in household.held())


def test_a_village_that_has_crawled(tmp_path: Path) -> None:
    asyncio.run(a_village_that_has_crawled(tmp_path))
