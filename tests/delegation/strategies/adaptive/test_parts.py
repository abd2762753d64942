"""Each part of `adaptive` by itself: tables of what goes in and what comes out."""

from __future__ import annotations

import random
from collections.abc import Sequence
from ipaddress import ip_address

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipmicra.addresses import AddressRange
from ipmicra.delegation.crawlers import CrawlerProfile
from ipmicra.delegation.strategies.adaptive.arrays import Singles
from ipmicra.delegation.strategies.adaptive.facts import (
    SiteFeatures,
    country_number,
    facts_of,
    identities_of,
    neighbourhoods,
)
from ipmicra.delegation.strategies.adaptive.geography.city_points import places_by_country
from ipmicra.delegation.strategies.adaptive.geography.distance_model import (
    distances_km,
    fitted,
    unit_vectors,
)
from ipmicra.delegation.strategies.adaptive.inference.bounds import RoundTripBounds, bounding_row
from ipmicra.delegation.strategies.adaptive.inference.value_of_information import (
    expected_savings_ms,
    nearest_shares,
    sifted,
)
from ipmicra.delegation.strategies.adaptive.inference.variances import FIRST_SHIFT_MS, VarianceModel
from ipmicra.delegation.strategies.adaptive.mutual import Mutual, filled, spacing_ms
from ipmicra.delegation.strategies.adaptive.price import price_factor
from ipmicra.delegation.strategies.adaptive.training.examples import ExampleKind, Examples, Fixed
from ipmicra.delegation.strategies.adaptive.training.groups import Groups
from ipmicra.delegation.strategies.adaptive.training.sampling import sampled
from ipmicra.delegation.strategies.adaptive.training.subnet_agreement import SubnetAgreement
from ipmicra.delegation.subnets import NoSubnets
from ipmicra.model.ids import CrawlerId
from ipmicra.testing.strategy_referee import tree_of


def singles(numbers: Sequence[float] | Sequence[Sequence[float]]) -> Singles:
    return np.array(numbers, dtype=np.float32)


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
    others = [facts_of(ip_address(text), NoSubnets()) for text in ("20.1.2.200", "20.1.130.3")]
    sizes = neighbourhoods(np.array([other.key for other in others], dtype=np.uint64), facts)
    assert sizes[0] / sizes[1] == pytest.approx(2**8, rel=0.5)


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        ("20.1.2.3", "20.15.9.9", True),
        ("20.1.2.3", "21.1.2.3", False),
        ("32.1.13.184", "2001:db8::1", False),  # the same leading bits
        ("2001:db8::1", "2001:dff::1", True),
        ("2001:db8::1", "2a00:db8::1", False),
    ],
)
def test_neighbours_are_of_one_block_and_of_one_family(one: str, other: str, together: bool) -> None:
    blocks = [identities_of(facts_of(ip_address(text), NoSubnets()))[-1] for text in (one, other)]
    assert (blocks[0] == blocks[1]) is together


@given(st.lists(st.integers(0, 3), max_size=60), st.integers(1, 8))
def test_groups_hold_the_latest_in_the_order_they_came(countries: list[int], room: int) -> None:
    groups, present = Groups(), list[tuple[int, int]]()
    for number, country in enumerate(countries):
        if len(present) == room:
            groups.drop_oldest((present.pop(0)[1], -1, -1, -1, -1))
        groups.add(number, (country, -1, -1, -1, -1))
        present.append((number, country))
        for wanted in range(4):
            assert groups.sharing(0, wanted).tolist() == [n for n, c in present if c == wanted]
    assert groups.sharing(1, -1).tolist() == []


def test_the_oldest_example_gives_way() -> None:
    examples = Examples(2, sites_max=3)
    for number in range(5):
        examples.add(SiteFeatures(country=number), np.full(2, float(number)), np.zeros((2, 2)))
    assert examples.count == 3
    shared = [examples.by_site.sharing(0, number).tolist() for number in range(5)]
    assert shared == [[], [], [2], [0], [1]]


def test_sites_and_towns_keep_their_rows_when_there_come_more_of_the_others() -> None:
    examples = Examples(1, sites_max=1000)
    for towns in (2, 2, 5, 1):
        facts = [SiteFeatures(country=900 + town) for town in range(towns)]
        values = np.arange(towns, dtype=float)[:, None]
        examples.set_fixed(Fixed(1, facts, [1.0] * towns, values, np.zeros((towns, 1))))
        for _ in range(50):
            number = examples.sites
            examples.add(SiteFeatures(country=number), np.full(1, 100.0 + number), np.zeros((1, 2)))
        assert examples.count == towns + examples.sites
        assert examples.mass == examples.count
        for number in range(examples.sites):
            assert examples.by_site.sharing(0, number).tolist() == [number]
        towns_found = [examples.by_town.sharing(0, 900 + town).tolist() for town in range(1, towns)]
        assert towns_found == [[town] for town in range(1, towns)]
        round_trips = [*range(towns), *range(100, 100 + examples.sites)]
        assert examples.values_ms[0, : examples.count].tolist() == round_trips
    assert examples.of_sites()[0][:, 0].tolist() == [100.0 + number for number in range(200)]


@given(st.lists(st.booleans(), min_size=1, max_size=20))
def test_columns_follow_joins_and_leaves(joins: list[bool]) -> None:
    examples, width = Examples(1, sites_max=100), 1
    for join in joins:
        examples.add(SiteFeatures(), np.ones(width), np.zeros((width, 2)))
        if join:
            examples.add_column(np.full(examples.count, 7.0), np.zeros(examples.count))
            width += 1
        elif width > 1:
            examples.drop_column(0)
            width -= 1
        assert len(examples.values_ms) == len(examples.doubts_ms) == width
        assert np.isfinite(examples.values_ms).all()
        assert (examples.nearest[: examples.count] < width).all()


@given(st.integers(0, 3000), st.integers(64, 1000), st.integers(0, 3))
def test_no_more_is_weighed_than_there_is_room_for(sites: int, room: int, country: int) -> None:
    examples = Examples(1, sites_max=4000)
    for number in range(sites):
        address = ip_address(f"20.1.{number // 256}.{number % 256}")
        facts = facts_of(address, NoSubnets())._replace(country=number % 2)
        examples.add(facts, np.ones(1), np.zeros((1, 2)))
    site = facts_of(ip_address("20.1.0.7"), NoSubnets())._replace(country=country)
    rows = rows_for(site, examples, room)
    assert len(rows) <= 2 * room
    if sites > room:
        assert len(rows) <= room
    assert set(rows) <= set(range(sites))
    assert rows == rows_for(site, examples, room)
    if sites > 0:
        assert len(rows) > 0


def test_whoever_shares_a_subnet_is_weighed_among_thousands() -> None:
    examples = Examples(1, sites_max=4000)
    for number in range(3000):
        examples.add(SiteFeatures(country=1, subnet=number // 3), np.ones(1), np.zeros((1, 2)))
    rows = rows_for(SiteFeatures(country=1, subnet=500), examples, 200)
    assert {1500, 1501, 1502} <= set(rows)


def rows_for(site: SiteFeatures, examples: Examples, room: int) -> list[int]:
    rows: list[int] = sampled(identities_of(site), None, examples, room).rows.tolist()
    return rows


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
    bounds, row = RoundTripBounds(len(mutual)), bounding_row(np.array(mutual), np.zeros(len(mutual)))
    bounds.tighten(round_trip_ms, row)
    before = bounds.least_ms.copy()
    bounds.tighten(round_trip_ms + 5.0, row)
    assert np.isfinite(bounds.least_ms).all()
    assert (bounds.least_ms >= before).all()
    assert (before >= 0).all()


def test_light_binds_more_than_half_a_triangle() -> None:
    bounds = RoundTripBounds(1)
    bounds.tighten(10.0, bounding_row(np.array([100.0]), np.array([80.0])))
    assert bounds.least_ms[0] == 70.0
    bounds.tighten(190.0, bounding_row(np.array([10.0]), np.array([8.0])))
    assert bounds.least_ms[0] == 90.0


def test_savings_agree_with_drawing_lots() -> None:
    dice = np.random.default_rng(1)
    means, spreads, weights = singles([[10.0, 30.0]]), singles([[4.0, 9.0]]), singles([0.3, 0.7])
    drawn = [
        np.maximum(20.0 - dice.normal(mean, spread, 200_000), 0).mean()
        for mean, spread in zip(means[0], spreads[0], strict=True)
    ]
    found = expected_savings_ms(weights, means, spreads, 20.0)[0]
    assert found == pytest.approx(0.3 * drawn[0] + 0.7 * drawn[1], rel=0.02)


def test_sifting_keeps_the_promising() -> None:
    means = np.full((500, 3), 200.0, dtype=np.float32)
    means[123] = 1.0
    assert 123 in sifted(singles([1 / 3] * 3), means, np.ones_like(means), 50.0)


def test_the_nearest_is_who_the_weightiest_examples_say() -> None:
    shares = nearest_shares(singles([0.2, 0.3, 0.5]), np.array([0, 1, 1]), 3)
    assert shares.tolist() == pytest.approx([0.2, 0.8, 0.0])


def test_spreads_shrink_where_answers_are_foretold() -> None:
    spreads, dice = VarianceModel(), random.Random(1)
    for _ in range(300):
        learn_of_one(spreads, ExampleKind.SITE, dice.gauss(0, 0.5))
        spreads.learn_shift(singles([0.1]), singles([0.01]), singles([1.0]))
    own_ms, own_share = spreads.widths((0, 0, 1, 0)).own
    assert 0.2 < own_ms[0] + 40.0 * own_share[0] < 1.5
    assert spreads.shift_variance < FIRST_SHIFT_MS**2 / 4


def test_agreement_is_doubted_until_enough_sites_say_so() -> None:
    agreement, subnet = SubnetAgreement(), AddressRange.parse("20.1.0.0/16")
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
    spreads = VarianceModel()
    first = spreads.twin_share
    for _ in range(50):
        spreads.learn_twins(0.1, 0.8)
    assert spreads.twin_share > 0.6 > first
    of_crawler, of_town, of_site, of_twin = spreads.widths((1, 1, 1, 1)).weight.tolist()
    assert of_town == 1.0
    assert of_twin == pytest.approx(spreads.twin_share)
    assert of_crawler == of_site == pytest.approx(1.0 - of_twin)


def test_a_twins_own_doubt_is_not_held_against_machine_rooms() -> None:
    sure, unsure = VarianceModel(), VarianceModel()
    for spreads, doubt_ms in ((sure, 0.0), (unsure, 20.0)):
        for _ in range(50):
            learn_of_one(spreads, ExampleKind.TWIN, 8.0, doubt_ms)
    assert sure.factors[ExampleKind.TWIN] > 4.0
    assert unsure.factors[ExampleKind.TWIN] < 1.5


def learn_of_one(
    spreads: VarianceModel, kind: ExampleKind, residual_ms: float, doubt_ms: float = 0.0
) -> None:
    """One example of that kind says 40 ms, and this is what it misses by."""
    own_ms, own_share = spreads.widths(
        (0, 0, int(kind is ExampleKind.SITE), int(kind is ExampleKind.TWIN))
    ).own
    own = own_ms + 40.0 * own_share
    variances = singles([[float(own[0]) ** 2 + doubt_ms**2]])
    scores = singles([[residual_ms**2 / float(variances[0, 0])]])
    spreads.learn(scores, singles([[40.0]]), variances, np.array([int(kind)]), singles([1.0]))


@pytest.mark.parametrize(
    ("spacing_ms", "factor"),
    [(None, 1.0), (24.0, 1.0), (36.0, 1.5), (18.0, 0.75), (500.0, 2.0), (0.1, 0.5)],
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
