"""World files: read, checked, written and read again; generated from a seed or from latency data."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

import msgspec
import numpy as np
import pytest

from ipmicra.errors import OperatorFault
from ipmicra.lab.box.network.plan import Effect
from ipmicra.lab.box.world.box_world import BoxFault, BoxSite, BoxWorld, Stand
from ipmicra.lab.box.world.generator import WorldRequest, altered, made_world, six_of
from ipmicra.lab.box.world.network_plan import plan_of
from ipmicra.lab.box.world.validation import check
from ipmicra.lab.box.world.world_file import read_world, write_world
from ipmicra.lab.generated import generate
from ipmicra.lab.loopback.layout import great_circle_ms

SMALL = """
name = "small"
places = [
  { name = "lima", latitude = -12.0, longitude = -77.0, continent = "SA" },
  { name = "oslo", latitude = 59.9, longitude = 10.8, continent = "EU" },
  { name = "accra", latitude = 5.6, longitude = -0.2, continent = "AF" },
]
coordinator = { place = "oslo", addresses = ["30.0.0.1"] }
crawlers = [
  { name = "one", place = "lima", addresses = ["20.0.0.1", "2600::1"], link = { down_mbit = 8.0 } },
  { name = "two", place = "oslo", addresses = ["20.0.1.1"], nat = false },
]
[[sites]]
name = "plain.example"
stands = [{ places = ["accra"], addresses = ["40.0.0.0/24"] }]
[[sites]]
name = "cdn.example"
stands = [{ places = ["lima"], addresses = ["41.0.0.1"] }, { places = ["oslo"], addresses = ["41.0.1.1"] }]
[[sites]]
name = "anycast.example"
stands = [{ places = ["lima", "oslo"], addresses = ["42.0.0.1"] }]
[[sites]]
name = "hole.example"
serves = false
stands = [{ places = ["oslo"], addresses = ["43.0.0.1"] }]
[[faults]]
at_s = 10.0
until_s = 20.0
kind = "cut"
one = ["SA"]
[[faults]]
at_s = 5.0
kind = "slower"
one = ["one"]
other = ["plain.example"]
round_trip_ms = 200.0
"""


def small(tmp_path: Path, text: str = SMALL) -> BoxWorld:
    path = tmp_path / "world.toml"
    path.write_text(text)
    return read_world(path)


def test_round_trips_come_by_the_formula_where_no_table_is_given(tmp_path: Path) -> None:
    world = small(tmp_path)
    expected = great_circle_ms((-12.0, -77.0), (5.6, -0.2)) * 1.5 + 2.0
    assert world.crawler_to_site_ms(world.file.crawlers[0], world.file.sites[0]) == pytest.approx(
        expected
    )


def test_round_trips_come_from_the_table_where_one_is_named(tmp_path: Path) -> None:
    (tmp_path / "ms.csv").write_text(
        "from,to,round_trip_ms\nlima,oslo,200\noslo,accra,90\naccra,lima,150\n"
    )
    world = small(tmp_path, f'latencies = "ms.csv"\n{SMALL}')
    one, two = world.file.crawlers
    plain, cdn, anycast, _ = world.file.sites
    assert [world.crawler_to_site_ms(one, site) for site in (plain, cdn, anycast)] == [150, 0.5, 0.5]
    assert world.crawler_to_site_ms(two, plain) == 90
    assert world.nearest_stand("oslo", cdn).addresses == ("41.0.1.1",)


def test_the_plan_says_who_is_behind_which_wire_and_what_goes_wrong(tmp_path: Path) -> None:
    plan = plan_of(small(tmp_path))
    names = [end.name for end in plan.endpoints]
    assert names == [
        "name server", "coordinator", "one", "two",
        "plain.example", "cdn.example", "cdn.example#1", "anycast.example", "hole.example",
    ]  # fmt: skip
    assert [end.wire for end in plan.endpoints] == [0, 1, 2, 3, 0, 0, 0, 0, 0]
    assert [end.admits_calls for end in plan.endpoints[2:4]] == [False, True]
    assert plan.endpoints[2].link.down_bytes_per_s == 1_000_000
    assert [end.name for end in plan.endpoints if not end.answers] == ["hole.example"]
    cut, slower = plan.faults
    assert (cut.effect, cut.at_s, cut.until_s) == (Effect.CUT, 10.0, 20.0)
    assert sorted(cut.one) == [2, 5], "anycast is not in South America alone"
    assert sorted(cut.other) == [1, 3, 4, 6, 7, 8], "everybody but the name server, which is local"
    assert (slower.effect, slower.amount) == (Effect.ADDED, 0.1)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (
            'place = "oslo", addresses = ["30',
            'place = "rome", addresses = ["30',
            "not a place of this world",
        ),
        ('"20.0.1.1"', '"10.0.1.1"', "not public"),
        ('"20.0.1.1"', '"40.0.0.9"', "overlap"),
        ('"20.0.1.1"', '"nonsense"', "does not appear to be"),
        ('name = "two"', 'name = "one"', "used 2 times"),
        ('one = ["SA"]', 'one = ["XX"]', "does not exist in this world"),
        ("until_s = 20.0", "until_s = 2.0", "from 10.0 to 2.0"),
        ('kind = "cut"', 'kind = "broken"', "Invalid enum"),
        ('name = "small"', 'name = "small"\nloss = 1.5', "loss = 1.5"),
        ('name = "small"', 'name = "small"\ntypo = 1', "typo"),
        ("latitude = 5.6, ", "", "no round trip from"),
        ('stands = [{ places = ["accra"], addresses = ["40.0.0.0/24"] }]', "stands = []", "in no place"),
    ],
)
def test_what_cannot_be_is_the_operators_fault_and_said(
    tmp_path: Path, old: str, new: str, complaint: str
) -> None:
    assert old in SMALL
    with pytest.raises(OperatorFault, match=complaint):
        small(tmp_path, SMALL.replace(old, new))


def test_a_world_of_a_seed_is_the_same_every_time_and_survives_its_file(tmp_path: Path) -> None:
    wanted = WorldRequest(crawlers=3, sites=20, ipv6=True)
    world = made_world(generate(1).world, 1, wanted)
    again = made_world(generate(1).world, 1, wanted)
    assert world.file == again.file
    assert world.file != made_world(generate(2).world, 2, wanted).file
    write_world(tmp_path / "a" / "world.toml", world)
    read = read_world(tmp_path / "a" / "world.toml")
    assert read.file == msgspec.structs.replace(world.file, latencies="latencies.csv")
    assert np.allclose(read.round_trips_ms, world.round_trips_ms, atol=0.001)


def test_faults_survive_the_file_too(tmp_path: Path) -> None:
    world = small(tmp_path)
    write_world(tmp_path / "b.toml", world)
    assert read_world(tmp_path / "b.toml").file.faults == world.file.faults


def test_fewer_crawlers_of_a_seed_are_the_first_of_more() -> None:
    few, many = (made_world(generate(1).world, 1, WorldRequest(crawlers=n, sites=5)) for n in (4, 8))
    assert few.file.crawlers == many.file.crawlers[:4]


def test_an_altered_world_is_checked_too() -> None:
    world = made_world(generate(1).world, 1, WorldRequest(crawlers=2, sites=3))
    with pytest.raises(OperatorFault, match="does not exist in this world"):
        altered(world, faults=(BoxFault(at_s=0.0, kind="cut", one=("mars",)),))
    site = BoxSite(name="x.example", stands=(Stand(places=("mars",), addresses=("50.0.0.1",)),))
    with pytest.raises(OperatorFault, match="not a place of this world"):
        check(BoxWorld(msgspec.structs.replace(world.file, sites=(site,)), world.round_trips_ms))


def test_an_ipv6_address_goes_with_each_ipv4_one() -> None:
    world = made_world(generate(1).world, 1, WorldRequest(crawlers=1, sites=2, ipv6=True))
    four, six = world.file.sites[0].stands[0].addresses
    assert six == str(six_of(IPv4Address(four)))
    assert six_of(IPv4Address("192.0.2.1")) == IPv6Address("2600:0:c000:201::1")
