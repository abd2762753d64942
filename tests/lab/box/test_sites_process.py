"""Sites, names and agents in the box: the product's own prober, fetcher and engine, over delayed wires."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from ipmicra.cli.main import program
from ipmicra.lab.box.agents.handle import Agents
from ipmicra.lab.box.agents.messages import Crawled, Downloaded, ProbedRoundTrips
from ipmicra.lab.box.box import NetworkBox
from ipmicra.lab.box.session import access_log, staged
from ipmicra.lab.box.world.box_world import BoxSite, BoxWorld, Stand
from ipmicra.lab.box.world.generator import WorldRequest, altered, made_world
from ipmicra.lab.box.world.web import BoxNameServer, made_web, urls_of
from ipmicra.lab.box.world.world_file import read_world
from ipmicra.lab.generated import generate

PAGES = 3


def world_with_a_cdn() -> BoxWorld:
    """Three sites, one of them a CDN that stands where each of the first two crawlers does."""
    world = made_world(generate(1).world, 1, WorldRequest(crawlers=2, sites=2, pages=PAGES, ipv6=True))
    stands = tuple(
        Stand(places=(crawler.place,), addresses=(f"60.0.{number}.1",))
        for number, crawler in enumerate(world.file.crawlers)
    )
    return altered(
        world, sites=(*world.file.sites, BoxSite(name="cdn.example", stands=stands, pages=PAGES))
    )


def test_the_name_server_gives_each_asker_its_nearest_stand() -> None:
    world = world_with_a_cdn()
    names = BoxNameServer(world)
    seen = [names.seen_from(crawler.addresses[0])("cdn.example") for crawler in world.file.crawlers]
    assert [[str(address) for address in each or ()] for each in seen] == [["60.0.0.1"], ["60.0.1.1"]]
    assert names.seen_from("20.0.0.1")("nobody.example") is None
    both = names.seen_from(world.file.crawlers[0].addresses[1])(world.file.sites[0].name)
    assert [address.version for address in both or ()] == [4, 6]


def test_pages_have_the_size_and_number_that_the_world_asks_for() -> None:
    world = made_world(
        generate(1).world, 1, WorldRequest(crawlers=1, sites=2, pages=4, page_bytes=20_000)
    )
    web = made_web(world)
    assert len(urls_of(web)) == 8
    for site in web.values():
        assert all(15_000 < len(page.html) < 25_000 for page in site.pages.values())


class Played(msgspec.Struct):
    """What the agents found, all in one box."""

    world: BoxWorld
    probes: dict[str, ProbedRoundTrips]
    download: Downloaded
    cdn: list[Downloaded]
    crawl: Crawled
    asked: list[tuple[str, str]]


@pytest.fixture(scope="module")
def played(box_allowed: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    folder, world = tmp_path_factory.mktemp("box"), world_with_a_cdn()
    with staged(world, folder) as box:
        yield asyncio.run(play(world, box, folder))


async def play(world: BoxWorld, box: NetworkBox, folder: Path) -> Played:
    crawler, site = world.file.crawlers[0].name, world.file.sites[0]
    address, name = site.stands[0].addresses[0], site.name
    async with Agents(box, folder) as agents:
        probes = {
            way: await agents.probe(crawler, address, f"http://{name}", way)
            for way in ("connect", "icmp", "head", "answer")
        }
        download = await agents.download(crawler, f"http://{name}/")
        cdn = [await agents.download(each.name, "http://cdn.example/") for each in world.file.crawlers]
        crawl = await agents.crawl(
            crawler, [each.name for each in world.file.sites], 5, folder / "crawl"
        )
    await asyncio.sleep(0.3)  # the log is written out ten times per second
    asked = [(line.site, line.path) for line in access_log(folder) if line.method == "GET"]
    return Played(world, probes, download, cdn, crawl, asked)


@pytest.mark.parametrize("way", ["connect", "icmp", "head", "answer"])
def test_every_way_of_probing_finds_the_round_trip_that_was_asked(played: Played, way: str) -> None:
    asked_ms = played.world.crawler_to_site_ms(played.world.file.crawlers[0], played.world.file.sites[0])
    found_ms = played.probes[way].round_trip_ms
    assert found_ms is not None
    assert asked_ms <= found_ms < asked_ms + 25, "a busy machine may be late, never early"


def test_a_download_takes_a_round_trip_to_connect_and_one_to_ask(played: Played) -> None:
    asked_ms = played.world.crawler_to_site_ms(played.world.file.crawlers[0], played.world.file.sites[0])
    assert played.download.download_ms is not None
    assert 2 * asked_ms <= played.download.download_ms < 2 * asked_ms + 60


def test_a_cdn_is_near_to_everybody(played: Played) -> None:
    for found in played.cdn:
        assert found.round_trip_ms is not None
        assert found.round_trip_ms < 10


def test_the_engine_crawls_every_page_once(played: Played) -> None:
    assert played.crawl.pages == PAGES * len(played.world.file.sites)
    assert played.crawl.failures == {}
    assert played.crawl.package_bytes > 0
    web = made_web(played.world)
    wanted = {(site.name, path) for site in web.values() for path in site.pages}
    assert wanted <= set(played.asked)


def test_the_command_writes_a_world_that_can_be_read(tmp_path: Path) -> None:
    line = ["lab", "box", "world", str(tmp_path / "w"), "--seed", "3", "--crawlers", "2", "--json"]
    told = CliRunner().invoke(program, line, catch_exceptions=False)
    assert told.exit_code == 0
    found = json.loads(told.stdout)
    assert [row["crawler"] for row in found["crawlers"]] == ["crawler-00", "crawler-01"]
    assert len(read_world(Path(found["world"])).file.sites) == 40


def test_a_command_runs_inside_and_the_router_reports(box_allowed: None, tmp_path: Path) -> None:
    CliRunner().invoke(program, ["lab", "box", "world", str(tmp_path), "--sites", "3"])
    line = ["lab", "box", "run", str(tmp_path / "world.toml"), "--json", "--", "sh", "-c", "exit 3"]
    told = CliRunner().invoke(program, line, catch_exceptions=False, standalone_mode=False)
    assert told.return_value == 3
    assert json.loads(told.stdout)["dropped"]["full"] == 0
