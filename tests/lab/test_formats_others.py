"""Clouds, matrices, King, p2psim and transit-stub graphs -> a World."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from ipmicra.errors import OperatorFault
from ipmicra.lab.formats import load_world
from ipmicra.lab.formats.cloud import WITHIN_REGION_MS
from ipmicra.lab.formats.matrices import load_king

CLOUD_PREFIXES = "prefix,region\n192.0.2.0/25,north\n192.0.2.128/25,south\n2001:db8::/32,north\n"
CLOUD_ROUND_TRIPS = "source,target,rtt_ms\nnorth,south,40\nsouth,north,42\nnorth,moon,2500\n"


def cloud(folder: Path, prefixes: str = CLOUD_PREFIXES, round_trips: str = CLOUD_ROUND_TRIPS) -> Path:
    (folder / "any_prefix_region.csv.gz").write_bytes(gzip.compress(prefixes.encode()))
    (folder / "any_rtt_ms_p50.csv").write_text(round_trips)
    return folder


def test_a_cloud_s_regions_are_places_and_its_prefixes_homes(tmp_path: Path) -> None:
    world = load_world(cloud(tmp_path))
    assert [place.name for place in world.places] == ["north", "south"]
    assert [(str(home.addresses), home.place) for home in world.homes] == [
        ("192.0.2.0/25", 0),
        ("192.0.2.128/25", 1),
    ]
    expected = [[WITHIN_REGION_MS, 40], [40, WITHIN_REGION_MS]]
    assert world.round_trips_ms.tolist() == expected


def test_a_cloud_s_region_without_round_trips_is_left_out(tmp_path: Path) -> None:
    world = load_world(cloud(tmp_path, CLOUD_PREFIXES + "203.0.113.0/24,lost\n"))
    assert world.remarks == ("1 regions without round trips left out",)


@pytest.mark.parametrize(
    ("prefixes", "round_trips", "complaint"),
    [
        ("prefix,region\n192.0.2.1/24,north\n", CLOUD_ROUND_TRIPS, "has host bits set"),
        ("cidr,region\n", CLOUD_ROUND_TRIPS, "no column prefix"),
        ("prefix,region\n192.0.2.0/24,mars\n", CLOUD_ROUND_TRIPS, "no region has both"),
        (CLOUD_PREFIXES, "source,target,rtt_ms\nnorth,south,far\n", "rtt_ms 'far' is not a number"),
    ],
)
def test_a_malformed_cloud_is_refused(
    tmp_path: Path, prefixes: str, round_trips: str, complaint: str
) -> None:
    with pytest.raises(OperatorFault, match=complaint):
        load_world(cloud(tmp_path, prefixes, round_trips))


def file(folder: Path, name: str, content: str) -> Path:
    (folder / name).write_text(content)
    return folder / name


@pytest.mark.parametrize(
    "content", ["0,5,7\n5,0,-1\n8,nan,0\n", "# ms\n0 5 8\n5 0 -1\n7 -1 0\n", "0\n5 0\n7 -1 0\n"]
)
def test_a_plain_matrix_may_have_holes_and_two_directions(tmp_path: Path, content: str) -> None:
    world = load_world(file(tmp_path, "rtt_ms.csv", content))
    assert world.round_trips_ms[0].tolist() == [0, 5, 7]
    assert np.isnan(world.round_trips_ms[1, 2])
    assert len({home.addresses for home in world.homes}) == 3


def test_a_folder_with_a_matrix_is_a_world(tmp_path: Path) -> None:
    file(tmp_path, "rtt_ms.csv", "0 3\n3 0\n")
    assert load_world(tmp_path).round_trips_ms.tolist() == [[0, 3], [3, 0]]


@pytest.mark.parametrize(
    ("content", "complaint"), [("0,1,2\n1,0,2\n", "not a square matrix"), ("0,x\n1,0\n", "row 1")]
)
def test_a_malformed_matrix_is_refused(tmp_path: Path, content: str, complaint: str) -> None:
    with pytest.raises(OperatorFault, match=complaint):
        load_world(file(tmp_path, "matrix.txt", content))


def test_p2psim_tells_microseconds_between_nodes_counted_from_one(tmp_path: Path) -> None:
    text = "topology E2EGraph\nnode 1\nnode 2\nnode 3\n\n1,2 20000\n1,3 35000\n2,3 -1\n"
    world = load_world(file(tmp_path, "p2psim-king.txt", text))
    assert world.round_trips_ms[0].tolist() == [0, 20, 35]
    assert np.isnan(world.round_trips_ms[1, 2])


def test_king_comes_as_pairs_or_as_a_matrix(tmp_path: Path) -> None:
    pairs = load_world(file(tmp_path, "king.pairs", "7 9 1500\n9 7 1400\n"))
    matrix = load_king(file(tmp_path, "king.matrix", "0 1.4\n1.5 0\n"), units_per_ms=1.0)
    assert pairs.round_trips_ms.tolist() == matrix.round_trips_ms.tolist() == [[0, 1.4], [1.4, 0]]


@pytest.mark.parametrize(
    ("content", "complaint"), [("1 2 3\nhello\n", ":2: 'hello' is neither"), ("node 1\n", "no pair")]
)
def test_a_malformed_list_of_pairs_is_refused(tmp_path: Path, content: str, complaint: str) -> None:
    with pytest.raises(OperatorFault, match=complaint):
        load_world(file(tmp_path, "p2psim.txt", content))


def graph(folder: Path, edges: str) -> Path:
    file(folder, "nodes.csv", "node,kind,domain\n0,T,0\n1,S,1\n2,S,1\n3,S,2\n")
    file(folder, "edges.csv", "a,b,latency_ms\n" + edges)
    return folder


def test_a_round_trip_is_twice_the_shortest_path_between_stub_nodes(tmp_path: Path) -> None:
    world = load_world(graph(tmp_path, "1,0,5\n0,2,5\n1,2,3\n"))
    assert world.round_trips_ms[0, :2].tolist() == [0, 6]
    assert np.isnan(world.round_trips_ms[0, 2])  # nothing leads to node 3


@pytest.mark.parametrize(
    ("edges", "complaint"), [("1,8,5\n", "no node '8'"), ("1,2,-5\n", "0 ms or more"), ("", "no edge")]
)
def test_a_malformed_graph_is_refused(tmp_path: Path, edges: str, complaint: str) -> None:
    with pytest.raises(OperatorFault, match=complaint):
        load_world(graph(tmp_path, edges))


def hourly(folder: Path, probes: str) -> Path:
    file(folder, "eu_probes.csv", probes)
    rows = "0,1,2,30.5\n1,1,2,29.5\n0,2,1,31\n0,2,3,-1\n0,9,1,5\n"
    file(folder, "eu_rtt_hourly.csv", "hour_utc,source_id,target_id,rtt_ms\n" + rows)
    return folder


def test_hours_become_the_least_of_the_day(tmp_path: Path) -> None:
    probes = "id,ipv4,latitude,longitude\n1,192.0.2.1,52.1,4.9\n2,192.0.2.2,,\n3,192.0.2.3,,\n4,,,\n"
    world = load_world(hourly(tmp_path, probes))
    assert [place.name for place in world.places] == ["1", "2", "3"]
    assert world.round_trips_ms[0, 1] == 29.5
    assert np.isnan(world.round_trips_ms[1, 2])
    assert world.places[0].latitude == 52.1


@pytest.mark.parametrize(
    ("probes", "complaint"),
    [
        ("id\n1\n", "no column ipv4"),
        ("id,ipv4\n1,\n", "no probe with an address"),
        ("id,ipv4\n1,x\n", "'x'"),
    ],
)
def test_a_malformed_list_of_probes_is_refused(tmp_path: Path, probes: str, complaint: str) -> None:
    with pytest.raises(OperatorFault, match=complaint):
        load_world(hourly(tmp_path, probes))
