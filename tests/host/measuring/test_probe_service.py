"""A host's probes, by every way that its owner may set: real sockets, real servers on loopback."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from ipmicra.probing.settings import ProbeMethod, ProbingSettings
from ipmicra.protocol.host_messages import ProbeResult, ProbeTarget, ProbeTargets
from ipmicra.settings import Settings
from tests.crawler.local_site import Answer, LocalSite
from tests.host.host_harness import WEB, host_settings, join, living, take
from tests.host.scripted_coordinator import ScriptedCoordinator

THINKING_S = 0.2


def settings_for_ways(folder: Path, *ways: ProbeMethod) -> Settings:
    probing = ProbingSettings(ways=ways, patience_ms=1_500)
    return msgspec.structs.replace(host_settings(folder), probing=probing)


async def probed(
    folder: Path, settings: Settings, home: ScriptedCoordinator, *targets: ProbeTarget
) -> tuple[ProbeResult, ...]:
    async with living(folder, settings):
        order = home.give(ProbeTargets(targets=targets))
        await home.until(lambda: order in home.done)
    return home.done[order].probes


@pytest.mark.parametrize(
    ("way", "least_ms", "asked"),
    [("connect", 0.0, []), ("head", 0.0, ["/"]), ("answer", THINKING_S * 1000 / 2, ["/"])],
)
def test_a_host_probes_by_the_way_its_owner_has_set(
    tmp_path: Path, way: ProbeMethod, least_ms: float, asked: list[str]
) -> None:
    async def story() -> None:
        slow = {"/": Answer(b"thought", seconds=THINKING_S)}
        async with ScriptedCoordinator().serving() as home, LocalSite(slow).serving() as site:
            await join(home, tmp_path)
            target = ProbeTarget(
                site=f"http://named.example:{site.port}", address="127.0.0.1", port=site.port
            )
            settings = settings_for_ways(tmp_path, way)
            (result,) = await probed(tmp_path, settings, home, target)
            assert result.way == way
            assert result.round_trip_ms is not None
            assert least_ms <= result.round_trip_ms < least_ms + 100
            assert site.paths() == asked, "a name is asked at the given address, without DNS"

    asyncio.run(story())


def test_icmp_is_a_way_where_the_machine_allows_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with ScriptedCoordinator().serving() as home:
            await join(home, tmp_path)
            target = ProbeTarget(site="http://127.0.0.1", address="127.0.0.1", port=80)
            (result,) = await probed(tmp_path, settings_for_ways(tmp_path, "icmp"), home, target)
            assert result.way == "icmp"
            assert (result.round_trip_ms is None) == (result.silence == "refused")

    asyncio.run(story())


@pytest.mark.parametrize("way", ["head", "answer"])
def test_what_a_fetch_has_shown_is_asked_of_nobody(tmp_path: Path, way: ProbeMethod) -> None:
    async def story() -> None:
        async with ScriptedCoordinator().serving() as home, LocalSite(WEB).serving() as site:
            await join(home, tmp_path)
            home.give(take(site, f"{site.address}/"))
            target = ProbeTarget(site=site.address, address="127.0.0.1", port=site.port)
            async with living(tmp_path, settings_for_ways(tmp_path, way)):
                await home.until(lambda: "/c" in site.paths())
                order = home.give(ProbeTargets(targets=(target,)))
                await home.until(lambda: order in home.done)
            (result,) = home.done[order].probes
            assert result.way == "passive"
            assert site.paths().count("/") == 1

    asyncio.run(story())


@pytest.mark.parametrize("way", ["connect", "head", "answer", "icmp"])
def test_an_address_that_the_guard_refuses_gets_no_packet_by_any_way(
    tmp_path: Path, way: ProbeMethod
) -> None:
    async def story() -> None:
        async with ScriptedCoordinator().serving() as home:
            await join(home, tmp_path)
            inside = ProbeTarget(site="http://lan.example", address="192.168.1.1", port=80)
            mapped = ProbeTarget(site="http://six.example", address="::ffff:10.0.0.1", port=80)
            no_address = ProbeTarget(site="http://odd.example", address="here", port=80)
            settings = settings_for_ways(tmp_path, way)
            results = await probed(tmp_path, settings, home, inside, mapped, no_address)
            assert [r.silence for r in results] == ["refused", "refused", "no address"]

    asyncio.run(story())


def test_one_name_is_probed_at_several_addresses(tmp_path: Path) -> None:
    async def story() -> None:
        pages = {"/": Answer(b"here")}
        async with (
            ScriptedCoordinator().serving() as home,
            LocalSite(pages).serving() as first,
            LocalSite(pages).serving("127.0.0.2", first.port) as second,
        ):
            await join(home, tmp_path)
            name = f"http://named.example:{first.port}"
            targets = [
                ProbeTarget(site=name, address=address, port=first.port)
                for address in ("127.0.0.1", "127.0.0.2")
            ]
            results = await probed(tmp_path, settings_for_ways(tmp_path, "head"), home, *targets)
            assert all(result.round_trip_ms is not None for result in results)
            assert (first.paths(), second.paths()) == (["/"], ["/"])

    asyncio.run(story())
