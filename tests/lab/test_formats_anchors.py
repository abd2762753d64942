"""nodes.csv and rtt.csv.gz -> a World."""

from __future__ import annotations

import gzip
import ipaddress
from pathlib import Path

import numpy as np
import pytest

from ipmicra.errors import OperatorFault
from ipmicra.lab.formats import load_world

NODES = """probe_id,ipv4,asn,city,country,continent,lat,lon
1,192.0.2.1,64496,Athens,GR,EU,37.98,23.73
2,198.51.100.2,64497,Nicosia,CY,AS,35.17,33.36
3,203.0.113.3,64498,,,,,
4,,64499,Rome,IT,EU,41.9,12.5
"""
ROUND_TRIPS = """source_probe,target_probe,min_rtt_ms
1,2,20.5
2,1,19.5
1,3,7.0
3,2,-1
4,1,3.0
9,1,3.0
"""


def written(folder: Path, nodes: str = NODES, round_trips: str = ROUND_TRIPS) -> Path:
    (folder / "nodes.csv").write_text(nodes)
    (folder / "rtt.csv.gz").write_bytes(gzip.compress(round_trips.encode()))
    return folder


def test_the_lesser_direction_counts_and_the_only_one_where_there_is_one(tmp_path: Path) -> None:
    world = load_world(written(tmp_path))
    assert world.round_trips_ms[0, 1] == world.round_trips_ms[1, 0] == 19.5
    assert world.round_trips_ms[0, 2] == world.round_trips_ms[2, 0] == 7.0
    assert list(np.diag(world.round_trips_ms)) == [0, 0, 0]


def test_a_failed_measurement_is_a_hole(tmp_path: Path) -> None:
    assert np.isnan(load_world(written(tmp_path)).round_trips_ms[1, 2])


def test_nodes_without_an_address_are_left_out_and_said_to_be(tmp_path: Path) -> None:
    world = load_world(written(tmp_path))
    assert [place.name for place in world.places] == ["1", "2", "3"]
    assert world.remarks == (
        "1 nodes without an address left out",
        "1 round trips name a node that nodes.csv does not have",
    )


def test_what_nodes_csv_tells_of_a_place_is_kept(tmp_path: Path) -> None:
    athens, _, nowhere = load_world(written(tmp_path)).places
    assert athens.address == ipaddress.ip_address("192.0.2.1")
    assert (athens.country, athens.continent, athens.latitude) == ("GR", "EU", 37.98)
    assert (nowhere.country, nowhere.latitude) == ("", None)


def test_only_the_identifier_is_needed_and_the_order_of_columns_is_free(tmp_path: Path) -> None:
    world = load_world(
        written(
            tmp_path, "note,probe_id\nx,a\ny,b\n", "min_rtt_ms,x,target_probe,source_probe\n4,,a,b\n"
        )
    )
    assert world.round_trips_ms[0, 1] == 4.0
    assert str(world.places[0].address) == "240.0.0.1"
    assert "no node has an address" in world.remarks[0]


@pytest.mark.parametrize(
    ("nodes", "round_trips", "complaint"),
    [
        ("id,ipv4\n1,192.0.2.1\n", ROUND_TRIPS, "no column probe_id; its first line reads 'id,ipv4'"),
        (NODES, "a,b,c\n1,2,3\n", "no column source_probe, target_probe, min_rtt_ms"),
        (
            "probe_id,ipv4\n1,192.0.2.300\n",
            ROUND_TRIPS,
            "nodes.csv:2: ipv4 '192.0.2.300' is not an address",
        ),
        (NODES, "source_probe,target_probe,min_rtt_ms\n1,2,fast\n", "rtt.csv.gz:2: min_rtt_ms 'fast'"),
        ("probe_id\n1\n1\n", ROUND_TRIPS, "nodes.csv:3: probe_id '1' is empty or was there before"),
        ("probe_id\n", ROUND_TRIPS, "holds no node"),
        (
            NODES,
            "source_probe,target_probe,min_rtt_ms\n7,8,3\n",
            "holds no round trip between two nodes",
        ),
    ],
)
def test_malformed_files_are_refused_with_file_and_reason(
    tmp_path: Path, nodes: str, round_trips: str, complaint: str
) -> None:
    with pytest.raises(OperatorFault) as fault:
        load_world(written(tmp_path, nodes, round_trips))
    assert complaint in str(fault.value)


def test_a_cut_off_gzip_file_is_refused(tmp_path: Path) -> None:
    written(tmp_path)
    whole = (tmp_path / "rtt.csv.gz").read_bytes()
    (tmp_path / "rtt.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(OperatorFault, match=r"cannot read .*rtt\.csv\.gz"):
        load_world(tmp_path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text(NODES)
    with pytest.raises(OperatorFault, match=r"holds neither rtt\.csv nor rtt\.csv\.gz"):
        load_world(tmp_path)


def test_a_folder_of_something_else_says_what_forms_are_known(tmp_path: Path) -> None:
    with pytest.raises(OperatorFault, match=r"no latency data in a form that is known: nodes\.csv"):
        load_world(tmp_path)
    with pytest.raises(OperatorFault, match="no such file or folder"):
        load_world(tmp_path / "absent")
