"""A peer obeys its host's rules as a dock does: outside of its hours it fetches and probes nothing."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from ipmicra.host.limits.hours import DAYS
from ipmicra.overlay.live.rpc_client import status_of
from ipmicra.protocol.overlay_frames import FrameCodec
from ipmicra.settings import Settings
from tests.overlay.crawling_peers import SECRET, settings_with, village


def test_a_peer_rests_outside_of_its_hours_and_works_when_its_owner_changes_them(tmp_path: Path) -> None:
    asyncio.run(rested_then_worked(tmp_path))


async def rested_then_worked(folder: Path) -> None:
    async with village(folder, sites=2, pages=3) as living:
        other_day = DAYS[(datetime.now(UTC) + timedelta(days=3)).weekday()]
        hours = f"{other_day} 00:00-24:00"

        def owners_settings() -> Settings:
            settings = settings_with(living.web.names_port)
            return msgspec.structs.replace(
                settings, host=msgspec.structs.replace(settings.host, hours=hours)
            )

        node = living.add("a", (0.0, 0.0, 0.0), reload=owners_settings)
        await living.joined()
        await living.submit_all("a")
        await living.until(lambda: living.crawled() == living.sites, 20)
        status = await status_of(living.address("a"), FrameCodec(SECRET))
        assert "outside of its hours" in status.resting
        assert node.household is not None
        assert await node.household.round_trip_ms(living.sites[0]) is None, "it does not probe"
        await asyncio.sleep(1.5)  # three looks of the household
        assert living.web.log == [], "nothing was asked of any site"

        hours = "always"
        await living.until(lambda: living.found_anywhere() == living.urls, 40)
        assert (await status_of(living.address("a"), FrameCodec(SECRET))).resting == ""
