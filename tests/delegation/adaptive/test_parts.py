"""Each part of `adaptive` by itself: tables of what goes in and what comes out."""

from __future__ import annotations

import random
from ipaddress import ip_address

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipmicra.addresses import AddressRange
from ipmicra.delegation.adaptive.agreement import Agreement
from ipmicra.delegation.adaptive.bounds import least_ms
from ipmicra.delegation.adaptive.city_points import places_by_country
from ipmicra.delegation.adaptive.examples import Examples, Kind
from ipmicra.delegation.adaptive.facts import Facts, country_number, facts_of, neighbourhoods
from ipmicra.delegation.adaptive.geography import distances_km, fitted, unit_vectors
from ipmicra.delegation.adaptive.mutual import Mutual, filled, spacing_ms
from ipmicra.delegation.adaptive.price import price_factor
from ipmicra.delegation.adaptive.spreads import FIRST_SHIFT_MS, Spreads
from ipmicra.delegation.adaptive.worth import expected_savings_ms, nearest_shares, sifted
from ipmicra.delegation.crawlers import CrawlerProfile
from ipmicra.delegation.probes import CrawlerId
from ipmicra.delegation.subnets import NoSubnets
from tests.delegation.worlds import tree_of


def test_every_country_has_places_on_earth() -> None:
    table = places_by_country()
    assert len(table) >= 240
    for country, places in table.items():
        assert len(country) == 2
        for place in places:
            assert place.country == country
            assert -90 <= place.latitude <= 90
            assert -180 <= place.longitude <= 180
        assert len({place.name for place in places}) == len(places)


def test_known_distances_come_out() -> None:
    points = unit_vectors(np.array([51.5, 40.7, 51.5]), np.array([-0.1, -74.0, -0.1]))
    london_new_york = distances_km(points[:1], points[1:])[0]
    assert london_new_york[0] == pytest.approx(5570, rel=0.01)
    assert london_new_york[1] == pytest.approx(0, abs=1)


def test_the_line_is_found_through_an_outlier() -> None:
    km = np.linspace(200, 15000, 40)
    ms = 6.0 + 0.013 * km
    ms[7] += 300
    model = fitted(km, ms)
    assert model.ms_per_km == pytest.approx(0.013, rel=0.1)
    assert model.access_ms == pytest.approx(6.0, abs=2.5)


def test_without_pairs_the_assumption_stands_and_light_is_never_outrun() -> None:
    assert fitted(np.zeros(0), np.zeros(0)).ms_per_km == pytest.approx(0.016)
    impossible = fitted(np.linspace(1000, 9000, 50), np.full(50, 1.0))
    assert impossible.ms_per_km >= 0.01


def test_facts_come_from_the_smallest_known_subnet() -> None:
    tree = tree_of(("20.0.0.0/8", "registry", "US"), ("20.1.0.0/16", "university", "DE"))
    facts = facts_of(ip_address("20.1.2.3"), tree)
    assert facts.country == country_number("DE")
    assert facts.subnet_bits == 16
    assert facts_of(ip_address("99.1.1.1"), tree).country == country_number(None)
    assert facts_of(ip_address("2001:db8::1"), NoSubnets()).family == 6


def test_each_shared_bit_doubles_a_neighbourhood() -> None:
    facts = facts_of(ip_address("20.1.2.3"), NoSubnets())
    others = [
        facts_of(ip_address(text), NoSubnets()) for text in ("20.1.2.200", "20.1.130.3", "21.1.2.3")
    ]
    sizes = neighbourhoods(
        np.array([other.key for other in others], dtype=np.uint64), np.array([4, 4, 4]), facts
    )
    assert sizes[0] / sizes[1] == pytest.approx(2**8, rel=0.5)
    assert sizes[2] == 0.0


def test_families_are_no_neighbours() -> None:
    facts = facts_of(ip_address("20.1.2.3"), NoSubnets())
    assert neighbourhoods(np.array([facts.key], dtype=np.uint64), np.array([6]), facts)[0] == 0.0


def test_the_oldest_example_gives_way() -> None:
    examples = Examples(2, rows_max=3)
    for number in range(5):
        values = np.full(2, float(number))
        examples.add(Facts(country=number), values, np.zeros(2), Kind.SITE, 1.0)
    assert examples.count == 3
    assert sorted(examples.countries.tolist()) == [2, 3, 4]


@given(st.lists(st.booleans(), min_size=1, max_size=20))
def test_columns_follow_joins_and_leaves(joins: list[bool]) -> None:
    examples, width = Examples(1, rows_max=100), 1
    for join in joins:
        examples.add(Facts(), np.ones(width), np.zeros(width), Kind.SITE, 1.0)
        if join:
            examples.add_column(np.full(examples.count, 7.0), np.zeros(examples.count))
            width += 1
        elif width > 1:
            examples.drop_column(0)
            width -= 1
        assert examples.values_ms.shape[1] == examples.doubts_ms.shape[1] == width
        assert np.isfinite(examples.values_ms).all()


def test_a_newcomer_is_believed_where_its_neighbour_is() -> None:
    mutual = np.array([[0.0, 80.0, 10.0], [80.0, 0.0, 75.0], [10.0, 75.0, 0.0]])
    values, doubts = filled(np.array([[5.0, 82.0, np.nan]]), mutual)
    assert values[0, 2] == 10.0
    assert doubts.tolist() == [[0.0, 0.0, 5.0]]


def test_holes_without_any_hint_are_filled_all_the_same() -> None:
    values, doubts = filled(np.full((1, 2), np.nan), np.full((2, 2), np.nan))
    assert np.isfinite(values).all()
    assert (doubts > 0).all()


def test_mutual_round_trips_keep_to_their_crawlers_when_one_leaves() -> None:
    mutual = Mutual()
    for name in ("a", "b", "c"):
        mutual.join(CrawlerProfile(CrawlerId(name)))
    mutual.measure(CrawlerId("a"), CrawlerId("c"), 42.0)
    mutual.leave(CrawlerId("b"))
    assert mutual.round_trips_ms[mutual.column[CrawlerId("a")], mutual.column[CrawlerId("c")]] == 42.0
    assert mutual.known_pairs == 1


@given(
    st.floats(0.1, 500),
    st.lists(st.one_of(st.floats(0, 500), st.just(float("nan"))), min_size=1, max_size=9),
)
def test_bounds_are_never_negative_and_never_lost(round_trip_ms: float, mutual: list[float]) -> None:
    bounds = least_ms(round_trip_ms, np.array(mutual), np.zeros(len(mutual)))
    assert np.isfinite(bounds).all()
    assert (bounds >= 0).all()


def test_light_binds_more_than_half_a_triangle() -> None:
    assert least_ms(10.0, np.array([100.0]), np.array([80.0]))[0] == 70.0


def test_savings_agree_with_drawing_lots() -> None:
    dice = np.random.default_rng(1)
    means, spreads, weights = np.array([[10.0], [30.0]]), np.array([[4.0], [9.0]]), np.array([0.3, 0.7])
    drawn = [
        np.maximum(20.0 - dice.normal(mean, spread, 200_000), 0).mean()
        for mean, spread in zip(means[:, 0], spreads[:, 0], strict=True)
    ]
    found = expected_savings_ms(weights, means, spreads, 20.0)[0]
    assert found == pytest.approx(0.3 * drawn[0] + 0.7 * drawn[1], rel=0.02)


def test_sifting_keeps_the_promising() -> None:
    means = np.full((3, 500), 200.0)
    means[:, 123] = 1.0
    assert 123 in sifted(np.full(3, 1 / 3), means, np.ones((3, 500)), 50.0)


def test_the_nearest_is_who_the_weightiest_examples_say() -> None:
    means = np.array([[1.0, 2.0], [5.0, 3.0], [9.0, 1.0]])
    assert nearest_shares(np.array([0.2, 0.3, 0.5]), means).tolist() == [0.2, 0.8]


def test_spreads_shrink_where_answers_are_foretold() -> None:
    spreads, dice = Spreads(), random.Random(1)
    kinds, weights = np.zeros(1, dtype=np.int64), np.ones(1)
    for _ in range(300):
        residual = np.array([[dice.gauss(0, 0.5)]])
        values = np.array([[40.0]])
        spreads.learn(residual, values, spreads.of(values, np.zeros((1, 1)), kinds), kinds, weights)
        spreads.learn_shift(np.array([0.1]), np.array([0.01]), kinds, weights)
    assert 0.2 < spreads.of(values, np.zeros((1, 1)), kinds)[0, 0] < 1.5
    assert spreads.shift_variance < FIRST_SHIFT_MS**2 / 4


def test_agreement_is_doubted_until_enough_sites_say_so() -> None:
    agreement, subnet = Agreement(), AddressRange.parse("20.1.0.0/16")
    a, b = CrawlerId("a"), CrawlerId("b")
    assert agreement.doubt(subnet, a) == 0.5
    for _ in range(8):
        assert agreement.count(subnet, a) == a
    assert agreement.doubt(subnet, a) == pytest.approx(0.1)
    agreement.count(subnet, b)
    assert agreement.doubt(subnet, a) == pytest.approx(2 / 11)
    agreement.forget(a)
    assert agreement.doubt(subnet, b) == 0.5


def test_twins_count_for_more_where_they_explain_more() -> None:
    spreads, kinds = Spreads(), np.array([Kind.SITE, Kind.TWIN, Kind.PLACE], dtype=np.int64)
    first = spreads.shares()[Kind.TWIN]
    for _ in range(50):
        spreads.learn_twins(kinds, np.array([0.1, 0.8, 0.1]))
    shares = spreads.shares()
    assert shares[Kind.TWIN] > 0.6 > first
    assert shares[Kind.SITE] + shares[Kind.TWIN] == pytest.approx(1.0)


def test_a_twins_own_doubt_is_not_held_against_machine_rooms() -> None:
    kinds, weights, values = np.array([Kind.TWIN], dtype=np.int64), np.ones(1), np.array([[40.0]])
    sure, unsure = Spreads(), Spreads()
    for spreads, doubt in ((sure, 0.0), (unsure, 20.0)):
        for _ in range(50):
            width = spreads.of(values, np.array([[doubt]]), kinds)
            spreads.learn(np.array([[8.0]]), values, width, kinds, weights)
    assert sure.factors[Kind.TWIN] > 4.0
    assert unsure.factors[Kind.TWIN] < 1.5


@pytest.mark.parametrize(
    ("spacing_ms", "factor"),
    [(None, 1.0), (30.0, 1.0), (120.0, 2.0), (7.5, 0.5), (500.0, 2.0), (0.1, 0.5)],
)
def test_a_probe_costs_more_where_crawlers_are_far_apart(
    spacing_ms: float | None, factor: float
) -> None:
    assert price_factor(spacing_ms) == pytest.approx(factor)


def test_the_spacing_is_to_the_nearest_neighbour_that_is_measured() -> None:
    mutual = np.array([[0.0, 10.0, np.nan], [10.0, 0.0, 80.0], [np.nan, 80.0, 0.0]])
    assert spacing_ms(mutual) == 10.0
    assert spacing_ms(np.zeros((1, 1))) is None
    assert spacing_ms(np.zeros((0, 0))) is None
