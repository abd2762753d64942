"""A folder of registry data -> a tree that is made once and opened ever after."""

from __future__ import annotations

import gzip
import ipaddress
from pathlib import Path

import pytest

from ipmicra.delegation.subnets import NoSubnets, known_subnet
from ipmicra.errors import OperatorFault
from ipmicra.hierarchy import SubnetTree
from ipmicra.lab.registry_tree import kept_tree, opened_tree

DELEGATED = """2|ripencc|20181013|3|19830705|20181013|+0200
ripencc|*|ipv4|*|2|summary
ripencc|GR|ipv4|192.0.2.0|256|20000101|allocated|handle-1
ripencc|CY|ipv6|2001:db8::|32|20000101|assigned|handle-2
ripencc||ipv4|198.51.100.0|256||available|
"""
NETWORKS = "192.0.2.0/24\t64496\tDE\n192.0.2.128/25\t64497\tIT\n192.0.2.200/32\t\tIT\n"


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    below = tmp_path / "data" / "rir"
    below.mkdir(parents=True)
    (below / "delegated-ripencc-extended-latest.gz").write_bytes(gzip.compress(DELEGATED.encode()))
    (tmp_path / "data" / "networks.tsv").write_text(NETWORKS)
    return tmp_path / "data"


def test_the_registries_speak_first_and_routing_fills_the_gaps(registry: Path, tmp_path: Path) -> None:
    subnets = opened_tree(kept_tree(registry, tmp_path / "kept"))
    assert isinstance(subnets, SubnetTree)
    outer = subnets.smallest(ipaddress.ip_address("192.0.2.1"))
    assert str(subnets.range_of(outer)) == "192.0.2.0/24"
    assert subnets.organisation_handle(subnets.organisation_of(outer)) == "handle-1"
    assert subnets.country_of(outer) == "GR"
    assert (subnets.registry_of(outer), subnets.asn_of(outer)) == ("ripencc", 64496)


def test_nested_networks_climb_to_the_registry_s_and_no_further(registry: Path, tmp_path: Path) -> None:
    subnets = opened_tree(kept_tree(registry, tmp_path / "kept"))
    unary = subnets.smallest(ipaddress.ip_address("192.0.2.200"))
    inner = subnets.not_unary(unary)
    assert [str(subnets.range_of(subnet)) for subnet in (unary, inner)] == [
        "192.0.2.200/32",
        "192.0.2.128/25",
    ]
    outer = subnets.parent(inner)
    assert outer is not None
    above = subnets.parent(outer)
    assert above is not None
    assert str(subnets.range_of(above)) == "0.0.0.0/0"


def test_an_address_that_nobody_registered_lies_in_no_subnet(registry: Path, tmp_path: Path) -> None:
    subnets = opened_tree(kept_tree(registry, tmp_path / "kept"))
    for text in ("198.51.100.1", "2001:db9::1"):
        assert known_subnet(subnets, ipaddress.ip_address(text)) is None


def test_a_tree_is_made_once_and_again_only_when_a_file_changed(registry: Path, tmp_path: Path) -> None:
    cache = tmp_path / "kept"
    first = kept_tree(registry, cache)
    made_at = first.stat().st_mtime_ns
    assert kept_tree(registry, cache) == first
    assert first.stat().st_mtime_ns == made_at
    (registry / "networks.tsv").write_text(NETWORKS + "203.0.113.0/24\t64498\tFR\n")
    assert kept_tree(registry, cache) != first


def test_without_registry_data_every_address_is_unknown() -> None:
    assert isinstance(opened_tree(None), NoSubnets)


def test_a_folder_without_registry_data_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OperatorFault, match="holds no registry data"):
        kept_tree(tmp_path, tmp_path)
    with pytest.raises(OperatorFault, match="no such folder of registry data"):
        kept_tree(tmp_path / "absent", tmp_path)


def test_folders_that_are_links_are_followed(registry: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / "here").symlink_to(registry)
    assert kept_tree(linked, tmp_path / "kept") == kept_tree(registry, tmp_path / "kept")
