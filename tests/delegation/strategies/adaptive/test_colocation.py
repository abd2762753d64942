"""The value of an answer for a site's twins, and how it is applied to them."""

from __future__ import annotations

import numpy as np
import pytest

from ipmicra.delegation.strategies.adaptive.facts import SiteFeatures
from ipmicra.delegation.strategies.adaptive.training.colocation import past_twins, served
from ipmicra.delegation.strategies.adaptive.training.examples import Examples
from tests.delegation.strategies.adaptive.made_worlds import CloudWorld, MadeWorld

OFF_MS = 0.1
SITES = 250


def served_by(twins: int, measured: int, weight: float = 1.0) -> float:
    """A number of twins with that total weight, some of which had the answer."""
    weights = np.full(twins, weight / max(twins, 1), dtype=np.float32)
    unsure = np.full((1, twins), 25.0, dtype=np.float32)
    unsure[0, :measured] = 0.0
    return float(served(weights, unsure, OFF_MS)[0])


def test_an_answer_serves_as_many_again_as_did_without_it() -> None:
    assert served_by(0, 0) == 1.0
    assert served_by(9, 0) == pytest.approx(10.0)
    assert served_by(9, 1) == pytest.approx(1 + 8 / 2)
    assert served_by(9, 9) == pytest.approx(1.0)


def test_who_is_hardly_a_twin_hardly_counts() -> None:
    assert served_by(9, 0, weight=0.1) == pytest.approx(1.9)


def test_a_twin_is_held_against_the_likeliest() -> None:
    rows = np.array([0, 3, 4, 4, 5])  # row 0 is not a site; 4 is there for two reasons
    weights = np.array([0.2, 0.4, 0.2, 0.19, 0.01], dtype=np.float32)
    told, sure = past_twins(rows, weights, fixed=2)
    assert told.tolist() == [3, 4]
    assert sure == pytest.approx([1.0, 0.975])


def test_without_past_sites_nobody_is_told() -> None:
    nobody = np.zeros(0, dtype=np.int64)
    told, sure = past_twins(nobody, np.zeros(0, dtype=np.float32), fixed=2)
    assert len(told) == len(sure) == 0


def test_twins_are_told_what_they_did_not_measure() -> None:
    examples = Examples(crawlers=2, sites_max=4)
    for doubt_ms in (0.0, 8.0, 8.0):
        examples.add(
            SiteFeatures(), np.array([20.0, 30.0]), np.array([[0.0, 0.0], [doubt_ms / 2, doubt_ms]])
        )
    examples.apply_answer(np.arange(3), 1, 10.0, np.array([1.0, 1.0, 0.5]), OFF_MS)
    assert examples.values_ms[1, :3].tolist() == [30.0, 10.0, 20.0]
    for doubts in examples.doubts_ms[1]:  # for someone alike, and for a twin
        measured, told, half_told = doubts[:3].tolist()
        assert measured == 0.0
        assert told == pytest.approx(OFF_MS)
        assert half_told > 10.0  # either 10 or 30
    assert examples.nearest[:2].tolist() == [0, 1]


def test_a_twin_is_handed_all_doubt_and_somebody_alike_less() -> None:
    world = CloudWorld(8)
    strategy = world.strategy(positions=False)
    for number in range(30):
        world.delegate(strategy, world.target(number))
    _, doubts = strategy.experience.examples.of_sites()
    alike, twin = doubts[:, 0], doubts[:, 1]
    assert (twin >= alike).all()
    assert (twin > alike).any()


def not_asked(world: MadeWorld, sites: int) -> list[float | None]:
    """For each site that went to a crawler that was not probed, how much nearer it is than the probed
    ones, in ms; None for the others.
    """
    strategy, nearer = world.strategy(positions=False), []
    for number in range(sites):
        target = world.target(number)
        decision = world.delegate(strategy, target)
        assert decision.crawler is not None
        answers_ms = {crawler: answer.round_trip_ms or 0.0 for crawler, answer in decision.probes}
        unasked = decision.crawler not in answers_ms
        chosen_ms = world.round_trip_ms(int(decision.crawler[1:]), target)
        nearer.append(min(answers_ms.values()) - chosen_ms if unasked else None)
        assert ("not asked" in {step.what for step in decision.steps}) == unasked
    return nearer


def test_a_site_of_a_known_room_goes_unasked_to_who_answered_for_the_room() -> None:
    """Addresses give no hint in this world: the first probed crawler is seldom the nearest, but its
    answer shows the room.
    """
    nearer_ms = not_asked(CloudWorld(8), SITES)
    unasked = [ms for ms in nearer_ms if ms is not None]
    assert nearer_ms[:3] == [None] * 3  # no one has answered for any room yet
    assert len(unasked) > SITES / 5
    assert sum(ms > 0 for ms in unasked) / len(unasked) >= 0.95
    assert sum(unasked) / len(unasked) > 10.0


def test_looking_afresh_ends_with_somebody_who_answered() -> None:
    world = CloudWorld(8)
    strategy = world.strategy(positions=False)
    for number in range(SITES):
        world.delegate(strategy, world.target(number))
    for number in range(40):
        decision = world.delegate(strategy, world.target(number), afresh=True)
        assert decision.crawler in {crawler for crawler, _ in decision.probes}
