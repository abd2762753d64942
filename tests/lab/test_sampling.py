"""A World and a seed -> crawlers spread over the continents, and sites."""

from __future__ import annotations

import numpy as np
import pytest

from ipmicra.addresses import AddressRange, address_of
from ipmicra.errors import OperatorFault
from ipmicra.lab.simulation.sampling import draw_from
from ipmicra.lab.world import Home, LatencyNode, World, homes_of_single_addresses

CONTINENTS = ["EU"] * 14 + ["AS"] * 5 + [""] * 3 + ["SA"] * 2


def world_of(continents: list[str] = CONTINENTS) -> World:
    count = len(continents)
    places = tuple(
        LatencyNode(str(index), address_of(4, 0xC0000200 + index), continent=continent)
        for index, continent in enumerate(continents)
    )
    matrix = np.abs(np.subtract.outer(np.arange(count), np.arange(count))).astype(np.float64)
    return World("line", places, homes_of_single_addresses(places), matrix)


def test_continents_take_turns_until_one_runs_out() -> None:
    draw = draw_from(world_of(), seed=1, number=0, crawler_count=8)
    continents = [crawler.continent for crawler in draw.crawlers]
    assert set(continents[:3]) == {"EU", "AS", "SA"}
    assert continents[3:6] == continents[:3]
    assert sorted(continents[6:]) == ["AS", "EU"]


def test_every_other_address_is_a_site_once_and_the_truth_belongs_to_it() -> None:
    world = world_of()
    draw = draw_from(world, seed=1, number=0, crawler_count=4)
    assert sorted(draw.site_places + draw.crawler_places) == list(range(len(CONTINENTS)))
    for number, place in enumerate(draw.site_places):
        assert draw.sites[number].address == world.places[place].address
        expected = world.round_trips_ms[list(draw.crawler_places), place]
        assert draw.round_trips_ms[:, number].tolist() == expected.tolist()


def test_a_draw_repeats_under_its_seed_and_number_only() -> None:
    first, again = (draw_from(world_of(), 1, 0, 4) for _ in range(2))
    assert (first.crawler_places, first.sites) == (again.crawler_places, again.sites)
    assert first.sites != draw_from(world_of(), 1, 1, 4).sites
    assert first.sites != draw_from(world_of(), 2, 0, 4).sites


def test_neither_crawlers_nor_sites_have_holes_between_them() -> None:
    world = world_of(["EU"] * 30)
    holes = np.random.default_rng(5).random((30, 30)) < 0.1
    np.fill_diagonal(holes, False)
    world.round_trips_ms[holes | holes.T] = np.nan
    for number in range(20):
        draw = draw_from(world, 1, number, 4)
        assert np.isfinite(draw.mutual_ms).all()
        assert np.isfinite(draw.round_trips_ms).all()
        assert len(draw.sites) >= 3


def test_sites_are_drawn_inside_prefixes_where_homes_are_prefixes() -> None:
    world = world_of(["EU"] * 6)
    prefixes = tuple(Home(AddressRange.parse(f"198.51.{place}.0/24"), place) for place in range(6))
    cloud = World("cloud", world.places, prefixes, world.round_trips_ms + 1.0)
    draw = draw_from(cloud, 1, 0, 3, site_count=500)
    assert len({site.name for site in draw.sites}) == 500
    for site, place in zip(draw.sites, draw.site_places, strict=True):
        assert prefixes[place].addresses.holds(site.address)
    assert set(draw.crawler_places) <= set(draw.site_places)  # a crawler's own region has sites too


def test_more_crawlers_than_places_are_refused() -> None:
    with pytest.raises(OperatorFault, match="7 crawlers were asked for, only 6"):
        draw_from(world_of(["EU"] * 6), 1, 0, 7)


def test_a_world_where_nothing_is_left_to_crawl_is_refused() -> None:
    with pytest.raises(OperatorFault, match="no site has a known round trip"):
        draw_from(world_of(["EU"] * 6), 1, 0, 6)


def test_crawlers_are_found_where_few_pairs_were_measured() -> None:
    world = world_of(["EU"] * 30)
    apart = np.not_equal.outer(np.arange(30) // 10, np.arange(30) // 10)
    world.round_trips_ms[apart] = np.nan
    draw = draw_from(world, 1, 0, 4)
    assert len({place // 10 for place in draw.crawler_places}) == 1
    assert len(draw.sites) == 6
