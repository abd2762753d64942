"""A host and its coordinator over real HTTP: orders done, pages home, rules kept, nothing lost."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ipmicra.crawler.frontier import DiscoveredUrl, Frontier
from ipmicra.errors import OperatorFault
from ipmicra.host.site_state_file import write_state
from ipmicra.model.ids import SiteEpoch
from ipmicra.model.urls import Site, Url
from ipmicra.protocol.host_messages import (
    Pause,
    ProbeTarget,
    ProbeTargets,
    ReleaseSites,
    Resume,
    Retire,
    Upgrade,
)
from tests.crawler.local_site import Answer, LocalSite, html
from tests.host.host_harness import WEB, command, events, host_settings, join, living, take, urls
from tests.host.scripted_coordinator import ScriptedCoordinator


def test_a_host_joins_takes_a_site_and_sends_its_pages_home(tmp_path: Path) -> None:
    async def story() -> None:
        async with ScriptedCoordinator().serving() as home, LocalSite(WEB).serving() as site:
            await join(home, tmp_path)
            order = home.give(take(site, f"{site.address}/", "https://other.example/not-ours"))
            async with living(tmp_path, host_settings(tmp_path)):
                await home.until(lambda: len(home.pages()) == 4)
                await home.until(lambda: any(beat.passive for beat in home.heartbeats))
            assert home.done[order].done
            assert sorted(home.pages()) == urls(site, "/", "/a", "/b", "/c")
            assert {epoch for epoch, _ in home.packages.values()} == {0}
            passive = next(beat.passive for beat in home.heartbeats if beat.passive)
            assert (passive[0].site, passive[0].address) == (site.address, "127.0.0.1")
            assert home.heartbeats[-1].rules["hours"] == "always (UTC)"
            check_log(tmp_path, site, home)

    asyncio.run(story())


def check_log(folder: Path, site: LocalSite, home: ScriptedCoordinator) -> None:
    log = json.loads(command(folder, "host", "log", "--json").output)
    contacted = {(row["purpose"], row["site"], row["address"]) for row in log["contacts"]}
    assert contacted == {
        ("fetch", site.address, "127.0.0.1"),
        ("coordinator", home.address, "127.0.0.1"),
    }
    assert all(row["bytes_in"] > 0 and row["day"] for row in log["contacts"])
    (fetches,) = [row for row in log["contacts"] if row["purpose"] == "fetch"]
    assert fetches["contacts"] == len(site.asked)
    status = json.loads(command(folder, "host", "status", "--json").output)
    assert (status["running"], status["pages"]) == (False, 4)
    assert status["packages_to_send"] == 1  # what was measured, sealed when the host stopped


def test_a_probe_is_measured_once_and_its_result_reported(tmp_path: Path) -> None:
    async def story() -> None:
        async with ScriptedCoordinator().serving() as home, LocalSite(WEB).serving() as site:
            await join(home, tmp_path)
            here = ProbeTarget(site=site.address, address="127.0.0.1", port=site.port)
            inside = ProbeTarget(site="http://lan.example", address="192.168.1.1", port=80)
            order = home.give(ProbeTargets(targets=(here, inside)))
            upgrade = home.give(Upgrade(version="9"))
            async with living(tmp_path, host_settings(tmp_path)):
                await home.until(lambda: {order, upgrade} <= set(home.done))
            measured, refused = home.done[order].probes
            assert measured.round_trip_ms is not None
            assert 0 < measured.round_trip_ms < 100
            assert (refused.round_trip_ms, refused.silence) == (None, "refused")
            assert not home.done[upgrade].done
            assert site.asked == []

    asyncio.run(story())


def test_a_released_site_is_left_at_once_and_goes_on_elsewhere_where_it_was(tmp_path: Path) -> None:
    async def story() -> None:
        slow = {**WEB, "/a": Answer(b"late", seconds=30)}
        async with ScriptedCoordinator().serving() as home, LocalSite(slow).serving() as site:
            lima, oslo = tmp_path / "lima", tmp_path / "oslo"
            await join(home, lima)
            home.give(take(site, f"{site.address}/"))
            async with living(lima, host_settings(lima)):
                await home.until(lambda: "/a" in site.paths())
                released = home.give(ReleaseSites(sites=((site.address, SiteEpoch(1)),)))
                await home.until(lambda: released in home.done, seconds=10)
                assert site.address in home.states  # before it was reported as done
            first = len(site.asked)
            site.pages = WEB
            other = ScriptedCoordinator()
            other.states = home.states
            async with other.serving():
                await join(other, oslo)
                other.give(take(site, epoch=2, has_state=True))
                async with living(oslo, host_settings(oslo)):
                    await other.until(lambda: f"{site.address}/c" in other.pages())
            assert "/robots.txt" not in site.paths()[first:]  # it came along
            assert sorted(home.pages() + other.pages()) == urls(site, "/", "/a", "/b", "/c")

    asyncio.run(story())


@pytest.mark.parametrize("poison", ["of another site", "no state at all"])
def test_a_poisoned_state_is_refused_and_the_site_is_crawled_from_the_start(
    tmp_path: Path, poison: str
) -> None:
    async def story() -> None:
        async with ScriptedCoordinator().serving() as home, LocalSite(WEB).serving() as site:
            await join(home, tmp_path)
            home.states[site.address] = (
                b"poison" if poison == "no state at all" else foreign_state(tmp_path)
            )
            order = home.give(take(site, f"{site.address}/", has_state=True))
            async with living(tmp_path, host_settings(tmp_path)):
                await home.until(lambda: f"{site.address}/c" in home.pages())
                assert home.done[order].done
            assert any("without its state" in line for line in events(tmp_path))
            assert all(url.startswith(site.address) for url in home.pages())

    asyncio.run(story())


def foreign_state(folder: Path) -> bytes:
    """A state that an honest crawler made, of another site."""
    frontier = Frontier(folder / "foreign.sqlite")
    frontier.add([DiscoveredUrl(Url("http://other.example/"), 0, 0)])
    chunks = list(frontier.export_site(Site("http://other.example")))
    frontier.close()
    name = write_state(folder / "foreign", "http://other.example", SiteEpoch(1), chunks)
    assert name is not None
    return (folder / "foreign" / name).read_bytes()


class Wrist:
    """A clock that a test sets."""

    def __init__(self, text: str) -> None:
        self.now = datetime.fromisoformat(text).replace(tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def set(self, text: str) -> None:
        self.now = datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_outside_of_its_hours_a_host_neither_fetches_nor_probes(tmp_path: Path) -> None:
    async def story() -> None:
        endless = LocalSite(lambda asked: html(f"/{len(asked.path)}x{asked.path[1:]}"))
        wrist = Wrist("2026-11-16T12:00:00")  # a Monday
        rules = {"hours": "mon-fri 22:00-06:00", "time_zone": "UTC"}
        async with ScriptedCoordinator().serving() as home, endless.serving() as site:
            await join(home, tmp_path)
            home.give(take(site, f"{site.address}/"))
            asleep = home.give(ProbeTargets(targets=(target(site),)))
            async with living(tmp_path, host_settings(tmp_path, **rules), wrist):
                await home.until(lambda: asleep in home.done)
                assert not home.done[asleep].done
                assert "hours" in home.done[asleep].detail
                assert site.asked == []
                assert not home.heartbeats[-1].awake
                wrist.set("2026-11-16T22:00:00")
                await home.until(lambda: len(site.asked) > 5)
                wrist.set("2026-11-17T05:59:58")  # the last seconds: nothing new is begun
                late = home.give(ProbeTargets(targets=(target(site),)))
                await home.until(lambda: late in home.done)
                assert not home.done[late].done
                wrist.set("2026-11-17T06:00:00")
                await home.until(lambda: not home.heartbeats[-1].awake or site.at_once == 0)
                await home.until(lambda: status(tmp_path)["resting"] is not None)
                asked = len(site.asked)
                await asyncio.sleep(1.0)
                assert len(site.asked) == asked

    asyncio.run(story())


def target(site: LocalSite) -> ProbeTarget:
    return ProbeTarget(site=site.address, address="127.0.0.1", port=site.port)


def status(folder: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads(command(folder, "host", "status", "--json").output)
    return found


def test_a_coordinator_that_is_away_is_crawled_for_all_the_same(tmp_path: Path) -> None:
    async def story() -> None:
        async with ScriptedCoordinator().serving() as home, LocalSite(WEB).serving() as site:
            await join(home, tmp_path)
            order = home.give(take(site, f"{site.address}/"))
            async with living(tmp_path, host_settings(tmp_path)):
                await home.until(lambda: order in home.done)
                home.away = True
                await home.until(lambda: len(site.asked) >= 5)
                await asyncio.sleep(0.5)
            home.away = False
            async with living(tmp_path, host_settings(tmp_path)):
                await home.until(lambda: len(home.pages()) == 4)
            assert len(site.asked) == 5  # nothing was fetched twice

    asyncio.run(story())


def test_orders_whose_answer_may_be_lost_are_asked_for_without_waiting_for_news(tmp_path: Path) -> None:
    async def story() -> None:
        async with ScriptedCoordinator().serving() as home:
            await join(home, tmp_path)
            async with living(tmp_path, host_settings(tmp_path)):
                await home.until(lambda: len(home.waits) == 2)
                home.away = True
                await home.until(lambda: "orders" in str(status(tmp_path)["line"]))
                home.away = False
                await home.until(lambda: len(home.waits) == 4)
        assert [wait > 0 for wait in home.waits[:4]] == [False, True, False, True]

    asyncio.run(story())


def test_a_clock_that_is_hours_off_is_put_right_by_the_coordinator(tmp_path: Path) -> None:
    async def story() -> None:
        async with ScriptedCoordinator().serving() as home:
            home.clock_ahead_ms = 7_200_000
            await join(home, tmp_path)
            async with living(tmp_path, host_settings(tmp_path)):
                await home.until(lambda: home.heartbeats)

    asyncio.run(story())


def test_a_lost_lease_ends_all_sites_and_what_was_crawled_late_is_thrown_away(tmp_path: Path) -> None:
    async def story() -> None:
        async with ScriptedCoordinator().serving() as home, LocalSite(WEB).serving() as site:
            await join(home, tmp_path)
            home.give(take(site, f"{site.address}/"))
            async with living(tmp_path, host_settings(tmp_path)):
                await home.until(lambda: len(home.pages()) == 4)
                home.epoch = 1
                await home.until(lambda: home.heartbeats[-1].sites == 0, seconds=45)
                home.packages.clear()
                again = home.give(take(site, f"{site.address}/", epoch=3))
                await home.until(lambda: len(home.pages()) == 4)
                assert {epoch for epoch, _ in home.packages.values()} == {1}
                assert home.done[again].done

    asyncio.run(story())


def test_pauses_of_the_coordinator_and_of_the_owner_are_kept_apart(tmp_path: Path) -> None:
    async def story() -> None:
        async with ScriptedCoordinator().serving() as home:
            await join(home, tmp_path)
            paused = home.give(Pause(reason="too many probes"))
            async with living(tmp_path, host_settings(tmp_path)):
                await home.until(lambda: paused in home.done)
                await home.until(lambda: "too many probes" in str(status(tmp_path)["resting"]))
                command(tmp_path, "host", "pause")
                resumed = home.give(Resume())
                await home.until(lambda: resumed in home.done)
                assert status(tmp_path)["resting"] == "paused by its owner"
                command(tmp_path, "host", "resume")
                await home.until(lambda: status(tmp_path)["resting"] is None)

    asyncio.run(story())


def test_a_host_that_retires_releases_sends_everything_and_ends(tmp_path: Path) -> None:
    async def story() -> None:
        async with ScriptedCoordinator().serving() as home, LocalSite(WEB).serving() as site:
            await join(home, tmp_path)
            home.give(take(site, f"{site.address}/"))
            settings = host_settings(tmp_path)
            async with living(tmp_path, settings) as (_, task):
                await home.until(lambda: "/c" in site.paths())
                order = home.give(Retire(reason="the study is over"))
                async with asyncio.timeout(30):
                    assert await task == "retired"
            assert home.done[order].done
            assert sorted(home.pages()) == urls(site, "/", "/a", "/b", "/c")
            assert site.address in home.states
        refused = command(tmp_path, "host", "run")
        assert isinstance(refused.exception, OperatorFault)
        assert "retired: the study is over" in str(refused.exception)

    asyncio.run(story())


def test_a_revoked_host_stops_and_says_so(tmp_path: Path) -> None:
    async def story() -> None:
        async with ScriptedCoordinator().serving() as home:
            await join(home, tmp_path)
            home.revoked = True
            async with living(tmp_path, host_settings(tmp_path)) as (_, task):
                async with asyncio.timeout(20):
                    assert await task == "dismissed"

    asyncio.run(story())


def test_the_days_bytes_are_a_limit(tmp_path: Path) -> None:
    async def story() -> None:
        endless = LocalSite(
            lambda asked: html(f"/{len(asked.path)}x{asked.path[1:]}", text="words " * 2000)
        )
        async with ScriptedCoordinator().serving() as home, endless.serving() as site:
            await join(home, tmp_path)
            home.give(take(site, f"{site.address}/"))
            async with living(tmp_path, host_settings(tmp_path, bytes_per_day_max=200_000)):
                await home.until(lambda: "bytes" in str(status(tmp_path)["resting"]))
                asked = len(site.asked)
                used = status(tmp_path)["bytes_today"]
                assert isinstance(used, int)
                assert 200_000 <= used < 300_000
                await asyncio.sleep(0.7)
                assert len(site.asked) == asked

    asyncio.run(story())


def test_new_rules_are_obeyed_while_running_and_contradictory_ones_are_not(tmp_path: Path) -> None:
    async def story() -> None:
        endless = LocalSite(lambda asked: html(f"/{len(asked.path)}x{asked.path[1:]}"))
        rules = host_settings(tmp_path)
        async with ScriptedCoordinator().serving() as home, endless.serving() as site:
            await join(home, tmp_path)
            home.give(take(site, f"{site.address}/"))
            noon = Wrist("2026-11-16T12:00:00")
            async with living(tmp_path, rules, noon, lambda: rules):
                await home.until(lambda: len(site.asked) > 3)
                rules = host_settings(tmp_path, hours="22:00-06:00")
                await home.until(lambda: "hours" in str(status(tmp_path)["resting"]))
                rules = host_settings(tmp_path, bytes_per_day_max=10, bytes_per_month_max=5)
                await home.until(lambda: "stay as they were" in command(tmp_path, "host", "log").output)
                assert "hours" in str(status(tmp_path)["resting"])

    asyncio.run(story())


def test_leaving_hands_over_tells_the_coordinator_and_leaves_nothing_behind(tmp_path: Path) -> None:
    async def story() -> None:
        async with ScriptedCoordinator().serving() as home, LocalSite(WEB).serving() as site:
            await join(home, tmp_path)
            home.give(take(site, f"{site.address}/"))
            async with living(tmp_path, host_settings(tmp_path)):
                await home.until(lambda: "/c" in site.paths())
            left = await asyncio.to_thread(command, tmp_path, "host", "leave", "--yes")
            assert left.exit_code == 0, left.output
            assert home.left
            assert site.address in home.states
            assert sorted(home.pages()) == urls(site, "/", "/a", "/b", "/c")
            assert list(tmp_path.iterdir()) == []

    asyncio.run(story())


def test_a_coordinator_that_is_gone_keeps_nobody_from_leaving(tmp_path: Path) -> None:
    async def story() -> None:
        async with ScriptedCoordinator().serving() as home:
            await join(home, tmp_path)
        left = await asyncio.to_thread(command, tmp_path, "host", "leave", "--yes", "--seconds", "1")
        assert left.exit_code == 0, left.output
        assert list(tmp_path.iterdir()) == []

    asyncio.run(story())
