"""The contract of all strategies. A strategy joins by being in the table."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ipmicra.delegation.decision import Why
from ipmicra.delegation.driver import drive
from ipmicra.delegation.registry import STRATEGIES
from ipmicra.delegation.strategy import Delegating
from ipmicra.model.ids import CrawlerId
from ipmicra.model.probes import NoAnswer, Probe, ProbeAnswer
from tests.delegation.screenplay import Referee, course_of
from tests.delegation.worlds import driven, target, told

ASKS_NOBODY = ("random", "hash")
LEARNS = [name for name in STRATEGIES if name not in (*ASKS_NOBODY, "worst")]
every_strategy = pytest.mark.parametrize("name", STRATEGIES)
every_learner = pytest.mark.parametrize("name", LEARNS)


@every_strategy
@given(seed=st.integers(0, 10**6))
@settings(max_examples=8, deadline=None)
def test_the_laws_hold_whatever_happens(name: str, seed: int) -> None:
    assert len(course_of(name, seed)) == 60


@every_strategy
def test_the_same_seed_makes_the_same_decisions(name: str) -> None:
    assert course_of(name, seed=3) == course_of(name, seed=3)


def test_decisions_do_not_hang_on_the_order_of_sets() -> None:
    root = Path(__file__).parents[2]
    said = [
        subprocess.run(
            [sys.executable, "-m", "tests.delegation.screenplay"],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": f"{root}{os.pathsep}{root / 'src'}"},
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    ]
    assert said[0] == said[1]
    assert len(said[0].splitlines()) == 60 * len(STRATEGIES)


@every_strategy
def test_nobody_awake_nobody_chosen(name: str) -> None:
    referee = Referee(name, seed=1, crawlers=3)
    for crawler in sorted(referee.places):
        referee.sleep(crawler)
    decision = referee.delegate(target("99.1.1.1"))
    assert (decision.crawler, decision.why) == (None, Why.NO_CRAWLER_AWAKE)


@every_strategy
def test_a_sleeper_keeps_what_it_has_or_another_awake_takes_it(name: str) -> None:
    referee = Referee(name, seed=1, crawlers=3, silent_share=0.0)
    owner = referee.delegate(target("11.1.1.1")).crawler
    assert owner is not None
    referee.sleep(owner)
    meanwhile = referee.delegate(target("11.1.1.1"))
    assert meanwhile.waits_for == owner or meanwhile.crawler not in (None, owner)


@every_strategy
def test_what_a_leaver_had_is_delegated_anew(name: str) -> None:
    referee = Referee(name, seed=1, crawlers=3, silent_share=0.0)
    owner = referee.delegate(target("11.1.1.1")).crawler
    assert owner is not None
    referee.leave(owner)
    assert referee.delegate(target("11.1.1.1")).crawler not in (None, owner)


@every_strategy
def test_a_newcomer_is_used(name: str) -> None:
    referee = Referee(name, seed=1, crawlers=1, silent_share=0.0)
    referee.join(CrawlerId("new"))
    for old in sorted(referee.places):
        if old != "new":
            referee.leave(old)
    assert referee.delegate(target("11.1.1.1")).crawler == "new"


@every_learner
def test_a_dead_target_goes_to_nobody_and_is_not_probed_again_at_once(name: str) -> None:
    referee = Referee(name, seed=1, crawlers=8, silent_share=1.0)
    first = referee.delegate(target("99.1.1.1"))
    assert (first.crawler, first.why) == (None, Why.UNREACHABLE)
    if name != "brute-force":
        assert len(first.probes) < 8
        assert referee.delegate(target("99.1.1.1")).probes == ()


@every_learner
def test_a_crawler_that_cannot_ask_says_nothing_about_the_target(name: str) -> None:
    referee = Referee(name, seed=1, crawlers=5, silent_share=0.0)
    gone: list[str] = []

    def tell(probe: Probe) -> ProbeAnswer:
        if len(gone) < 4:
            gone.append(probe.crawler)
            referee.strategy.on_crawler_slept(probe.crawler)
            return ProbeAnswer(None, NoAnswer.CRAWLER_ASLEEP)
        return ProbeAnswer(30.0)

    decision = driven(referee.strategy.delegate(target("99.1.1.1"), 0.0), tell)
    assert decision.crawler is not None
    assert decision.crawler not in gone


@every_learner
@pytest.mark.parametrize("lie_ms", [-1.0, 0.0, float("nan"), float("inf")])
def test_an_answer_that_cannot_be_a_round_trip_wins_nothing(name: str, lie_ms: float) -> None:
    referee = Referee(name, seed=1, crawlers=3, silent_share=0.0)
    world = dict.fromkeys(referee.places, 40.0) | {"c1": lie_ms}
    decision = driven(referee.strategy.delegate(target("99.1.1.1"), 0.0), told(world))
    assert decision.crawler in ("c0", "c2")


@every_learner
def test_two_delegations_under_way_at_once_keep_to_the_laws(name: str) -> None:
    referee = Referee(name, seed=1, crawlers=4, silent_share=0.0)
    one, other = target("11.1.1.1"), target("11.1.1.2")
    first = referee.strategy.delegate(one, 0.0)
    probe = next(first)
    second = referee.delegate(other)
    answer = ProbeAnswer(referee.round_trip_ms(probe.crawler, one.address))
    rest = driven_from(first, answer, referee)
    assert second.crawler is not None
    assert referee.strategy.owner_of(one) == rest
    referee.check_owners()


def driven_from(talk: Delegating, answer: ProbeAnswer, referee: Referee) -> str | None:
    """Carry on with a conversation that has begun."""

    def tell(probe: Probe) -> ProbeAnswer:
        return ProbeAnswer(referee.round_trip_ms(probe.crawler, probe.target.address))

    return drive(talk, tell, reply=answer).crawler
