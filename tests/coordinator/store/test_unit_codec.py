"""The text of a delegation unit names the same unit in another tree, or none."""

from __future__ import annotations

import ipaddress

import pytest

from ipmicra.addresses import AddressRange
from ipmicra.coordinator.store.unit_codec import unit_from_text, unit_text
from ipmicra.hierarchy import Subnet
from ipmicra.model.ids import SiteName
from ipmicra.testing.strategy_referee import tree_of

TREE = tree_of(("198.51.100.0/24", "Bakers"), ("198.51.100.0/25", "Millers"), ("2001:db8::/32", "Six"))


@pytest.mark.parametrize("subnet", range(len(TREE)))
def test_every_subnet_comes_back(subnet: int) -> None:
    assert unit_from_text(TREE, unit_text(TREE, Subnet(subnet))) == subnet


def test_an_address_and_a_site_are_their_own_text() -> None:
    for unit in (ipaddress.ip_address("198.51.100.7"), ipaddress.ip_address("2001:db8::1")):
        assert unit_from_text(TREE, unit_text(TREE, unit)) == unit
    assert unit_from_text(TREE, unit_text(TREE, SiteName("bread.example"))) == "bread.example"


def test_a_subnet_that_the_tree_lost_is_none_and_not_a_neighbour() -> None:
    grown = tree_of(("198.51.100.0/23", "Bakers"), ("2001:db8::/32", "Six"))
    assert unit_from_text(grown, "198.51.100.0/24") is None
    assert unit_from_text(grown, "198.51.100.0/22") is None
    found = unit_from_text(grown, "2001:db8::/32")
    assert isinstance(found, int)
    assert grown.range_of(Subnet(found)) == AddressRange.parse("2001:db8::/32")
