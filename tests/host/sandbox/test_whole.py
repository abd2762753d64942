"""A host whose crawler lives in a sandbox: the same stories as with one in the dock."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from ipmicra.coordinator.settings import CoordinatorSettings
from ipmicra.host.hosted.sandboxed import CONFIG_FILE
from ipmicra.host.sandbox.code import own_code
from ipmicra.protocol.host_messages import ObservePages, SendWhole
from tests.crawler.local_site import LocalSite
from tests.host.host_harness import WEB, events, host_settings, join, living, take, urls
from tests.host.scripted_coordinator import ScriptedCoordinator


def test_a_host_sends_home_what_its_crawler_in_the_sandbox_has_fetched(tmp_path: Path) -> None:
    async def story() -> None:
        async with ScriptedCoordinator().serving() as home, LocalSite(WEB).serving() as site:
            await join(home, tmp_path)
            order = home.give(take(site, f"{site.address}/"))
            secrets = CoordinatorSettings(database="postgresql://ipmicra:swordfish@db.example/x")
            settings = msgspec.structs.replace(host_settings(tmp_path), coordinator=secrets)
            async with living(tmp_path, settings, code=own_code()):
                await home.until(lambda: len(home.pages()) == 4)
                await home.until(lambda: any(beat.passive for beat in home.heartbeats))
                look = home.give(ObservePages(urls=(f"{site.address}/a", "http://127.0.0.2/")))
                await home.until(lambda: look in home.done)
                again = home.give(SendWhole(urls=(f"{site.address}/c",)))
                await home.until(lambda: home.pages().count(f"{site.address}/c") == 2)
            assert home.done[order].done
            seen, unseen = home.done[look].looks
            assert seen.url == f"{site.address}/a"
            assert seen.content_hash
            assert not unseen.content_hash
            assert home.done[again].done
            assert sorted(home.pages()) == urls(site, "/", "/a", "/b", "/c", "/c")

    asyncio.run(story())
    assert b"swordfish" not in (tmp_path / "host" / CONFIG_FILE).read_bytes()
    log = events(tmp_path)
    assert not [line for line in log if "code tried" in line], "honest code"
