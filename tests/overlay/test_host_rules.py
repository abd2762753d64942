"""A peer obeys the owner's limits as a host does: outside its hours it fetches and probes nothing."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from ipmicra.host.limits.hours import DAYS
from ipmicra.overlay.live.rpc_client import status_of
from ipmicra.protocol.overlay_frames import FrameCodec
from ipmicra.settings import Settings
from tests.overlay.crawling_peers import SECRET, overlay_harness, settings_with


def test_a_peer_pauses_outside_its_hours_and_works_when_its_owner_changes_them(tmp_path: Path) -> None:
    asyncio.run(paused_then_worked(tmp_path))


async def paused_then_worked(folder: Path) -> None:
    async with overlay_harness(folder, sites=2, pages=3) as harness:
        other_day = DAYS[(datetime.now(UTC) + timedelta(days=3)).weekday()]
        hours = f"{other_day} 00:00-24:00"

        def owners_settings() -> Settings:
            settings = settings_with(harness.web.names_port)
            return msgspec.structs.replace(
                settings, host=msgspec.structs.replace(settings.host, hours=hours)
            )

        node = harness.add("a", (0.0, 0.0, 0.0), reload=owners_settings)
        await harness.wait_until_joined()
        await harness.submit_all("a")
        await harness.wait_until(lambda: harness.crawled() == harness.sites, 20)
        status = await status_of(harness.address("a"), FrameCodec(SECRET))
        assert "outside of its hours" in status.pause_reason
        assert node.crawl_service is not None
        assert await node.crawl_service.round_trip_ms(harness.sites[0]) is None, "it does not probe"
        await asyncio.sleep(1.5)  # three steps of the crawl service
        assert harness.web.log == [], "no request was sent to any site"

        hours = "always"
        await harness.wait_until(lambda: harness.found_anywhere() == harness.urls, 40)
        assert (await status_of(harness.address("a"), FrameCodec(SECRET))).pause_reason == ""
