"""Laws that hold in any world: bounded probes, sleepers left alone, no NaN, repeatable."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ipmicra.delegation.decision import Why
from ipmicra.delegation.driver import drive
from ipmicra.delegation.strategies.adaptive import Adaptive
from ipmicra.model.probes import Measurement, NoAnswer, Probe, ProbeAnswer
from tests.delegation.strategies.adaptive.made_worlds import MadeWorld, name_of
from tests.delegation.worlds import driven

odd_answers = st.one_of(
    st.floats(min_value=0.01, max_value=1e5),
    st.sampled_from([None, math.nan, math.inf, -1.0, 0.0]),
)


def entries_are_finite(strategy: Adaptive) -> bool:
    sites = strategy.experience.examples
    return bool(np.isfinite(sites.values_ms).all() and np.isfinite(sites.doubts_ms).all())


@given(answers=st.lists(odd_answers, min_size=40, max_size=40), seed=st.integers(0, 50))
@settings(max_examples=15, deadline=None)
def test_whatever_is_answered_probes_are_bounded_and_no_number_is_lost(
    answers: list[float | None], seed: int
) -> None:
    world = MadeWorld(seed, crawlers=4)
    strategy = world.strategy()
    left = list(answers)

    def tell(probe: Probe) -> ProbeAnswer:
        value = left.pop() if left else None
        return ProbeAnswer(value, NoAnswer.TIMED_OUT if value is None else None)

    for number in range(8):
        decision = driven(strategy.delegate(world.target(number), float(number)), tell)
        asked = [crawler for crawler, _ in decision.probes]
        assert len(asked) == len(set(asked)) <= 4
        assert "nan" not in decision.explanation()
    assert entries_are_finite(strategy)
    assert math.isfinite(strategy.spreads.shift_variance)
    assert np.isfinite(strategy.spreads.factors).all()


@given(asleep=st.sets(st.integers(0, 5), min_size=1, max_size=5), seed=st.integers(0, 50))
@settings(max_examples=10, deadline=None)
def test_sleepers_are_neither_asked_nor_chosen(asleep: set[int], seed: int) -> None:
    world = MadeWorld(seed, crawlers=6)
    strategy = world.strategy()
    for number in range(5):
        world.delegate(strategy, world.target(number))
    sleepers = {name_of(number) for number in asleep}
    for crawler in sorted(sleepers):
        strategy.on_crawler_slept(crawler)
    for number in range(5, 12):
        decision = world.delegate(strategy, world.target(number))
        assert decision.crawler not in sleepers
        assert not sleepers & {crawler for crawler, _ in decision.probes}


def test_a_sleepers_remembered_answer_does_not_end_the_asking() -> None:
    world = MadeWorld(1, crawlers=3)
    strategy = world.strategy()
    target = world.target(0)
    strategy.learn(Measurement(name_of(0), target.address, 0.5, 0.0))
    strategy.on_crawler_slept(name_of(0))
    decision = world.delegate(strategy, target)
    assert decision.crawler in (name_of(1), name_of(2))


def test_a_free_round_trip_saves_a_probe() -> None:
    world = MadeWorld(2)
    asked = []
    for free in (False, True):
        strategy = world.strategy(explore=0.0)
        target = world.target(0)
        if free:
            nearest = min(range(8), key=lambda number: world.round_trip_ms(number, target))
            value = world.round_trip_ms(nearest, target)
            strategy.learn(Measurement(name_of(nearest), target.address, value, 0.0))
        asked.append(len(world.delegate(strategy, target).probes))
    assert asked[1] < asked[0]


def test_the_same_seed_asks_the_same_probes() -> None:
    def course() -> list[str]:
        world = MadeWorld(9)
        strategy = world.strategy()
        return [world.delegate(strategy, world.target(number)).explanation() for number in range(60)]

    assert course() == course()


def test_crawlers_that_join_and_leave_meanwhile_do_not_confuse_it() -> None:
    world = MadeWorld(3, crawlers=8)
    strategy = world.strategy()
    for number in range(30):
        world.delegate(strategy, world.target(number))
    strategy.on_crawler_left(name_of(2))
    talk = strategy.delegate(world.target(31), 0.0)
    probe = next(talk)
    leaver = next(name_of(number) for number in (0, 1, 3) if name_of(number) != probe.crawler)
    strategy.on_crawler_left(leaver)
    world.introduce(strategy, 2)

    def answer(probe: Probe) -> ProbeAnswer:
        assert probe.crawler != leaver
        return ProbeAnswer(world.round_trip_ms(int(probe.crawler[1:]), probe.target))

    ended = drive(talk, answer, reply=answer(probe))
    assert ended.crawler not in (None, leaver)
    assert strategy.experience.examples.crawlers == 7
    assert entries_are_finite(strategy)


def test_an_anycast_address_teaches_nothing_about_places() -> None:
    world = MadeWorld(4, crawlers=6)
    strategy = world.strategy(explore=1.0)
    before = strategy.experience.examples.sites
    decision = driven(strategy.delegate(world.target(0), 0.0), lambda _: ProbeAnswer(1.0))
    assert decision.why is Why.ANYCAST
    assert strategy.experience.examples.sites == before
    assert strategy.agreement.counts == {}
