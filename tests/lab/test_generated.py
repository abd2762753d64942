"""A seed -> a generated world whose registries know it fairly well."""

from __future__ import annotations

import numpy as np
import pytest

from ipmicra.delegation.subnets import known_subnet
from ipmicra.hierarchy.build import build_tree
from ipmicra.lab.generated import CONTINENTS, Generated, generate


@pytest.fixture(scope="module")
def generated() -> Generated:
    return generate(seed=3, host_count=300)


def test_round_trips_are_symmetric_whole_and_possible(generated: Generated) -> None:
    matrix = generated.world.round_trips_ms
    assert (matrix == matrix.T).all()
    off_diagonal = matrix[~np.eye(len(matrix), dtype=bool)]
    assert off_diagonal.min() >= 0.2  # two access links
    assert 200 < off_diagonal.max() < 1500


def test_every_continent_has_hosts_and_addresses_differ(generated: Generated) -> None:
    places = generated.world.places
    assert {place.continent for place in places} == set(CONTINENTS)
    assert len({place.address for place in places}) == len(places)


def test_neighbours_are_nearer_than_strangers(generated: Generated) -> None:
    places, matrix = generated.world.places, generated.world.round_trips_ms
    country = np.array([place.country for place in places])
    same = country[:, None] == country[None, :]
    np.fill_diagonal(same, False)
    assert np.median(matrix[same]) < 0.3 * np.median(matrix[~same])


def test_the_registry_knows_most_countries_but_not_all(generated: Generated) -> None:
    subnets = build_tree(generated.allocations).tree
    right = []
    for place in generated.world.places:
        assert place.address is not None
        subnet = known_subnet(subnets, place.address)
        assert subnet is not None
        right.append(subnets.country_of(subnet) == place.country)
    assert 0.6 < np.mean(right) < 0.99


def test_some_organisations_are_in_one_place_and_some_everywhere(generated: Generated) -> None:
    subnets = build_tree(generated.allocations).tree
    continents: dict[int, set[str]] = {}
    for place in generated.world.places:
        assert place.address is not None
        organisation = subnets.organisation_of(subnets.smallest(place.address))
        assert organisation >= 0
        continents.setdefault(organisation, set()).add(place.continent)
    spread = [len(where) for where in continents.values()]
    assert spread.count(1) > len(spread) / 2
    assert max(spread) >= 4


def test_the_same_seed_gives_the_same_run() -> None:
    one, again, other = generate(1, 60), generate(1, 60), generate(2, 60)
    assert one.world.places == again.world.places
    assert (one.world.round_trips_ms == again.world.round_trips_ms).all()
    assert one.world.places != other.world.places
