"""Peers crawl their sites, store pages twice, hand sites over with their state, and search together."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

from ipmicra.overlay.live import rpc_client
from ipmicra.protocol.overlay_frames import FrameCodec
from tests.overlay.crawling_peers import EVERYTHING, SECRET, SPACE, OverlayHarness, overlay_harness

CORNERS = {"a": (-60.0, -60.0, 0.0), "b": (60.0, 60.0, 0.0), "c": (60.0, -60.0, 0.0)}


def test_peers_crawl_search_leave_and_die_and_no_page_is_lost(tmp_path: Path) -> None:
    """One long scenario, since crawling takes seconds."""
    asyncio.run(crawled_left_and_dead(tmp_path))


async def crawled_left_and_dead(folder: Path) -> None:
    async with overlay_harness(folder, sites=6, pages=5) as harness:
        for name, point in CORNERS.items():
            harness.add(name, point, None if name == "a" else "a")
        await harness.wait_until_joined()
        await harness.submit_all("b")
        await harness.wait_until(lambda: harness.found_anywhere() == harness.urls, 60)
        await harness.wait_until(
            lambda: harness.crawled() == harness.sites, 20
        )  # none is between two peers
        shares = [set(node.peer.site_table.crawled) for node in harness.nodes.values()]
        assert sum(map(len, shares)) == len(harness.sites)
        assert all(shares), "every peer has sites"
        await harness.wait_until(lambda: all_stored_twice(harness), 20)
        assert len(harness.fetched()) == len(set(harness.fetched())), "no page was fetched twice"
        asked = await rpc_client.search(EVERYTHING, harness.address("c"), FrameCodec(SECRET))
        assert {hit.url for hit in asked.answer.hits} == harness.urls
        assert (asked.peers_asked, asked.answer.partial) == (3, False)

        await harness.leave("b")
        await harness.wait_until(lambda: harness.crawled() == harness.sites, 20)
        assert harness.found_anywhere() == harness.urls, "the leaver's pages are on the remaining peers"
        twice = {page for page, times in Counter(harness.fetched()).items() if times > 1}
        assert not twice, "and were not fetched again"

        await harness.end("c")
        await harness.wait_until(lambda: harness.crawled() == harness.sites, 20)
        await harness.wait_until(lambda: harness.found("a") == harness.urls, 40)


def all_stored_twice(harness: OverlayHarness) -> bool:
    counts = Counter(url for name in harness.nodes for url in harness.found(name))
    return set(counts) == harness.urls and min(counts.values()) >= 2


def test_a_site_is_placed_by_probes_and_linked_sites_are_submitted(tmp_path: Path) -> None:
    asyncio.run(placed_and_followed(tmp_path))


async def placed_and_followed(folder: Path) -> None:
    async with overlay_harness(folder, sites=3, pages=6) as harness:
        harness.add("a", CORNERS["a"])
        await harness.wait_until_joined()
        harness.add("b", CORNERS["b"], "a")
        await harness.wait_until_joined()
        codec = FrameCodec(SECRET)
        await rpc_client.submit(harness.sites[0], None, SPACE, harness.address("b"), codec)
        await harness.wait_until(lambda: harness.crawled() == harness.sites, 40)
        records = [
            r for node in harness.nodes.values() for r in node.peer.site_table.home_records.values()
        ]
        assert all(len(record.measured) == 2 for record in records), "both peers measured every site"
        await harness.wait_until(lambda: harness.found_anywhere() == harness.urls, 40)
        again = (99.0, -99.0, 99.0)
        await rpc_client.submit(harness.sites[0], again, SPACE, harness.address("a"), codec)
        homes = [
            name
            for name, node in harness.nodes.items()
            if harness.sites[0] in node.peer.site_table.home_records
        ]
        assert len(homes) == 1, "a name has one home, whichever peer submits it"
