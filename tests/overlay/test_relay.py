"""A peer that nobody can connect to takes part through a relay, and through another when that dies."""

from __future__ import annotations

import asyncio
from pathlib import Path

from ipmicra.overlay.live import rpc_client
from ipmicra.protocol.overlay_frames import FrameCodec
from tests.overlay.crawling_peers import EVERYTHING, SECRET, SPACE, village


def test_an_unreachable_peer_crawls_answers_and_outlives_its_relay(tmp_path: Path) -> None:
    asyncio.run(relayed(tmp_path))


async def relayed(folder: Path) -> None:
    async with village(folder, sites=3, pages=3) as living:
        living.add("a", (-60.0, -60.0, 0.0))
        await living.joined()
        living.add("b", (60.0, -60.0, 0.0), "a")
        hidden = living.add("hidden", (0.0, 60.0, 0.0), "a", reachable=False)
        await living.joined()
        assert "/hidden" in living.address("hidden")
        near_it = (1.0, 61.0, 0.0)
        for site in living.sites:
            await rpc_client.submit(site, near_it, SPACE, living.address("b"), FrameCodec(SECRET))
        await living.until(lambda: hidden.peer.book.crawled, 20)
        await living.until(lambda: living.found_anywhere() == living.urls, 40)
        status = await rpc_client.status_of(living.address("hidden"), FrameCodec(SECRET))
        assert status.card.peer == "hidden", "it answers through its relay"

        relay = living.address("hidden").partition("/")[0]
        name = next(name for name in ("a", "b") if living.address(name) == relay)
        other = "b" if name == "a" else "a"
        await living.end(name)
        moved = f"{living.address(other)}/hidden"
        await living.until(lambda: living.address("hidden") == moved, 20)
        await living.until(lambda: "hidden" in living.nodes[other].peer.table, 20)
        await living.until(lambda: living.crawled() == living.sites, 20)

        async def found() -> set[str]:
            asked = await rpc_client.search(EVERYTHING, living.address(other), FrameCodec(SECRET))
            return {hit.url for hit in asked.answer.hits}

        while await found() != living.urls:
            await asyncio.sleep(0.3)
