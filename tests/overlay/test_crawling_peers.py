"""Peers crawl what falls to them, keep it twice, hand it over warm, and answer searches together."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

from ipmicra.overlay.live import rpc_client
from ipmicra.protocol.overlay_frames import FrameCodec
from tests.overlay.crawling_peers import EVERYTHING, SECRET, SPACE, Village, village

CORNERS = {"a": (-60.0, -60.0, 0.0), "b": (60.0, 60.0, 0.0), "c": (60.0, -60.0, 0.0)}


def test_peers_crawl_search_leave_and_die_and_no_page_is_lost(tmp_path: Path) -> None:
    """One story, since crawling takes seconds."""
    asyncio.run(crawled_left_and_dead(tmp_path))


async def crawled_left_and_dead(folder: Path) -> None:
    async with village(folder, sites=6, pages=5) as living:
        for name, point in CORNERS.items():
            living.add(name, point, None if name == "a" else "a")
        await living.joined()
        await living.submit_all("b")
        await living.until(lambda: living.found_anywhere() == living.urls, 60)
        await living.until(lambda: living.crawled() == living.sites, 20)  # none is between two peers
        shares = [set(node.peer.book.crawled) for node in living.nodes.values()]
        assert sum(map(len, shares)) == len(living.sites)
        assert all(shares), "every peer has sites"
        await living.until(lambda: all_kept_twice(living), 20)
        assert len(living.fetched()) == len(set(living.fetched())), "no page was fetched twice"
        asked = await rpc_client.search(EVERYTHING, living.address("c"), FrameCodec(SECRET))
        assert {hit.url for hit in asked.answer.hits} == living.urls
        assert (asked.peers_asked, asked.answer.partial) == (3, False)

        await living.leave("b")
        await living.until(lambda: living.crawled() == living.sites, 20)
        assert living.found_anywhere() == living.urls, "the leaver's pages are with those who stay"
        twice = {page for page, times in Counter(living.fetched()).items() if times > 1}
        assert not twice, "and were not fetched again"

        await living.end("c")
        await living.until(lambda: living.crawled() == living.sites, 20)
        await living.until(lambda: living.found("a") == living.urls, 40)


def all_kept_twice(living: Village) -> bool:
    counts = Counter(url for name in living.nodes for url in living.found(name))
    return set(counts) == living.urls and min(counts.values()) >= 2


def test_a_site_is_placed_by_probes_and_brings_those_it_links_to(tmp_path: Path) -> None:
    asyncio.run(placed_and_followed(tmp_path))


async def placed_and_followed(folder: Path) -> None:
    async with village(folder, sites=3, pages=6) as living:
        living.add("a", CORNERS["a"])
        await living.joined()
        living.add("b", CORNERS["b"], "a")
        await living.joined()
        seal = FrameCodec(SECRET)
        await rpc_client.submit(living.sites[0], None, SPACE, living.address("b"), seal)
        await living.until(lambda: living.crawled() == living.sites, 40)
        records = [r for node in living.nodes.values() for r in node.peer.book.homed.values()]
        assert all(len(record.measured) == 2 for record in records), "both peers timed every site"
        await living.until(lambda: living.found_anywhere() == living.urls, 40)
        again = (99.0, -99.0, 99.0)
        await rpc_client.submit(living.sites[0], again, SPACE, living.address("a"), seal)
        homes = [name for name, node in living.nodes.items() if living.sites[0] in node.peer.book.homed]
        assert len(homes) == 1, "whoever submits it and wherever, a name has one home"
