"""The claim: nearly always the nearest crawler, with about two probes, whatever is missing."""

from __future__ import annotations

import pytest

from tests.delegation.strategies.adaptive.made_worlds import (
    CloudWorld,
    MadeWorld,
    accuracy_and_probes,
)

SITES = 250


@pytest.mark.parametrize("seed", [1, 2])
def test_nearly_every_site_finds_its_nearest_crawler_with_about_two_probes(seed: int) -> None:
    world = MadeWorld(seed)
    right, probes = accuracy_and_probes(world, world.strategy(price=0.5), SITES)
    assert right >= 0.97
    assert probes <= 2.2


def test_it_works_without_positions() -> None:
    world = MadeWorld(4)
    right, probes = accuracy_and_probes(world, world.strategy(positions=False, price=0.5), SITES)
    assert right >= 0.96
    assert probes <= 2.5


def test_a_more_expensive_probe_is_wanted_less_often() -> None:
    world = MadeWorld(5)
    shares = [
        accuracy_and_probes(world, world.strategy(price=price), 150) for price in (0.25, 2.0, 16.0)
    ]
    probes = [asked for _, asked in shares]
    assert probes[0] > probes[1] > probes[2]
    assert shares[0][0] >= shares[2][0]


def test_what_was_learnt_saves_probes() -> None:
    """At half a millisecond a probe: these crawlers' spacing makes that of the price set."""
    world = MadeWorld(6)
    learnt, forgetful = (
        accuracy_and_probes(world, world.strategy(positions=False, price=0.25, sites=sites), SITES)
        for sites in (True, False)
    )
    assert learnt[1] < forgetful[1] - 0.1
    assert learnt[0] >= forgetful[0] - 0.02


def test_beliefs_do_not_confirm_themselves() -> None:
    """In this world a crawler that towns put far away is the nearest; without doubt handed on whole,
    its sites went to another for ever (93 % right)."""
    world = MadeWorld(3)
    right, _ = accuracy_and_probes(world, world.strategy(price=0.5), SITES)
    assert right >= 0.98


def test_few_are_curious_where_nothing_can_be_found() -> None:
    """Two crawlers at the ends of the Earth, sites next door to one of them: the triangle and light say
    that the other cannot be nearer, so a further probe could change no belief."""
    world = MadeWorld(3, crawlers=2)
    incurious, curious = (
        accuracy_and_probes(world, world.strategy(price=8.0, explore=explore), 150)
        for explore in (0.0, 0.3)
    )
    assert curious[1] - incurious[1] < 0.2
    assert curious[0] >= incurious[0]


def test_a_single_crawler_needs_one_probe_a_site() -> None:
    world = MadeWorld(7, crawlers=1)
    assert accuracy_and_probes(world, world.strategy(), 40) == (1.0, 1.0)


def test_machine_rooms_are_recognised_by_an_answer_or_two() -> None:
    """Addresses say nothing here, so the first probe is a guess. Without twins rooms near each other
    were not told apart: 3.2 probes per site, 95 % right."""
    world = CloudWorld(8)
    right, probes = accuracy_and_probes(world, world.strategy(positions=False, price=0.5), SITES)
    assert right >= 0.98
    assert probes <= 2.6
