"""One organisation in many places, as the registry sees it."""

from __future__ import annotations

import ipaddress

from ipmicra.lab.box.trial.organisation import registered, sites_of_one


def test_the_registry_knows_one_organisation_and_a_network_for_each_site() -> None:
    sites = sites_of_one(["lima", "oslo", "pune"], 2)
    tree = registered(sites)
    addresses = [ipaddress.ip_address(site.stands[0].addresses[0]) for site in sites]
    subnets = [tree.smallest(address) for address in addresses]
    assert len(set(subnets)) == 6
    assert len({tree.organisation_of(subnet) for subnet in subnets}) == 1
    assert {tree.country_of(subnet) for subnet in subnets} == {"US"}


def test_neighbours_in_address_space_stand_in_different_places() -> None:
    places = [site.stands[0].places for site in sites_of_one(["lima", "oslo"], 2)]
    assert places == [("lima",), ("oslo",), ("lima",), ("oslo",)]
