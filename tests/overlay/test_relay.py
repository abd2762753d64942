"""A peer that cannot be reached takes part through a relay, and through another one when that dies."""

from __future__ import annotations

import asyncio
from pathlib import Path

from ipmicra.overlay.live import rpc_client
from ipmicra.protocol.overlay_frames import FrameCodec
from tests.overlay.crawling_peers import EVERYTHING, SECRET, SPACE, overlay_harness


def test_an_unreachable_peer_crawls_answers_and_outlives_its_relay(tmp_path: Path) -> None:
    asyncio.run(relayed(tmp_path))


async def relayed(folder: Path) -> None:
    async with overlay_harness(folder, sites=3, pages=3) as harness:
        harness.add("a", (-60.0, -60.0, 0.0))
        await harness.wait_until_joined()
        harness.add("b", (60.0, -60.0, 0.0), "a")
        hidden = harness.add("hidden", (0.0, 60.0, 0.0), "a", reachable=False)
        await harness.wait_until_joined()
        assert "/hidden" in harness.address("hidden")
        near_it = (1.0, 61.0, 0.0)
        for site in harness.sites:
            await rpc_client.submit(site, near_it, SPACE, harness.address("b"), FrameCodec(SECRET))
        await harness.wait_until(lambda: hidden.peer.site_table.crawled, 20)
        await harness.wait_until(lambda: harness.found_anywhere() == harness.urls, 40)
        status = await rpc_client.status_of(harness.address("hidden"), FrameCodec(SECRET))
        assert status.descriptor.peer == "hidden", "it answers through its relay"

        relay = harness.address("hidden").partition("/")[0]
        name = next(name for name in ("a", "b") if harness.address(name) == relay)
        other = "b" if name == "a" else "a"
        await harness.end(name)
        moved = f"{harness.address(other)}/hidden"
        await harness.wait_until(lambda: harness.address("hidden") == moved, 20)
        await harness.wait_until(lambda: "hidden" in harness.nodes[other].peer.table, 20)
        await harness.wait_until(lambda: harness.crawled() == harness.sites, 20)

        async def found() -> set[str]:
            asked = await rpc_client.search(EVERYTHING, harness.address(other), FrameCodec(SECRET))
            return {hit.url for hit in asked.answer.hits}

        async with asyncio.timeout(20):
            while await found() != harness.urls:
                await asyncio.sleep(0.3)
