"""How to make a strategy -> whether it keeps the promises of `Strategy`.

Invariant: what every strategy promises is checked of all; what only a strategy that goes by probes promises
is a contract of its own (`LEARNING_STRATEGY`), and so is sparing probes (`SPARING_STRATEGY`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

from ipmicra.delegation.decision import Why
from ipmicra.delegation.driver import drive
from ipmicra.model.ids import CrawlerId
from ipmicra.model.probes import NoAnswer, Probe, ProbeAnswer
from ipmicra.testing.contract import Contract
from ipmicra.testing.strategy_referee import MakeStrategy, Referee, course_of, site_at

STRATEGY: Contract[MakeStrategy] = Contract("a strategy")
LEARNING_STRATEGY: Contract[MakeStrategy] = Contract("a strategy that goes by probes")
SPARING_STRATEGY: Contract[MakeStrategy] = Contract("a strategy that spares probes")
SEEDS = range(8)
HOME, ELSEWHERE = site_at("11.1.1.1"), site_at("99.1.1.1")  # in the tree; in no subnet of it


def check_strategy(make: MakeStrategy, *, learns: bool = True, spares_probes: bool = True) -> None:
    """Check a strategy. `make` is called with a tree of subnets and a seeded generator.

    `learns=False`: it does not go by probes, as a hash does not. `spares_probes=False`: it may ask everybody
    about a dead target, each time. Raises PromiseBroken.
    """

    @contextmanager
    def subject() -> Iterator[MakeStrategy]:
        yield make

    STRATEGY.check(subject)
    if learns:
        LEARNING_STRATEGY.check(subject)
    if learns and spares_probes:
        SPARING_STRATEGY.check(subject)


@STRATEGY.promise
def the_invariants_hold_whatever_happens(make: MakeStrategy) -> None:
    for seed in SEEDS:
        assert len(course_of(make, seed)) == 60


@STRATEGY.promise
def the_same_seed_makes_the_same_decisions(make: MakeStrategy) -> None:
    assert course_of(make, seed=3) == course_of(make, seed=3)


@STRATEGY.promise
def nobody_awake_nobody_chosen(make: MakeStrategy) -> None:
    referee = Referee(make, seed=1, crawlers=3)
    for crawler in sorted(referee.places):
        referee.sleep(crawler)
    decision = referee.delegate(ELSEWHERE)
    assert (decision.crawler, decision.why) == (None, Why.NO_CRAWLER_AWAKE)


@STRATEGY.promise
def a_sleeping_owner_is_waited_for_or_another_takes_over(make: MakeStrategy) -> None:
    referee = Referee(make, seed=1, crawlers=3, silent_share=0.0)
    owner = referee.delegate(HOME).crawler
    assert owner is not None
    referee.sleep(owner)
    meanwhile = referee.delegate(HOME)
    assert meanwhile.waits_for == owner or meanwhile.crawler not in (None, owner)


@STRATEGY.promise
def what_a_leaver_had_is_delegated_again(make: MakeStrategy) -> None:
    referee = Referee(make, seed=1, crawlers=3, silent_share=0.0)
    owner = referee.delegate(HOME).crawler
    assert owner is not None
    referee.leave(owner)
    assert referee.delegate(HOME).crawler not in (None, owner)


@STRATEGY.promise
def a_newcomer_is_used(make: MakeStrategy) -> None:
    referee = Referee(make, seed=1, crawlers=1, silent_share=0.0)
    referee.join(CrawlerId("new"))
    for old in sorted(referee.places):
        if old != "new":
            referee.leave(old)
    assert referee.delegate(HOME).crawler == "new"


@LEARNING_STRATEGY.promise
def a_dead_target_goes_to_nobody(make: MakeStrategy) -> None:
    referee = Referee(make, seed=1, crawlers=8, silent_share=1.0)
    decision = referee.delegate(ELSEWHERE)
    assert (decision.crawler, decision.why) == (None, Why.UNREACHABLE)


@LEARNING_STRATEGY.promise
def a_crawler_that_cannot_ask_says_nothing_about_the_target(make: MakeStrategy) -> None:
    referee = Referee(make, seed=1, crawlers=5, silent_share=0.0)
    slept: list[CrawlerId] = []

    def answer(probe: Probe) -> ProbeAnswer:
        if len(slept) == 4:
            return ProbeAnswer(30.0)
        slept.append(probe.crawler)
        referee.strategy.on_crawler_slept(probe.crawler)
        return ProbeAnswer(None, NoAnswer.CRAWLER_ASLEEP)

    decision = drive(referee.strategy.delegate(ELSEWHERE, 0.0), answer)
    assert decision.crawler is not None
    assert decision.crawler not in slept


@LEARNING_STRATEGY.promise
def an_answer_that_cannot_be_a_round_trip_wins_nothing(make: MakeStrategy) -> None:
    for lie_ms in (-1.0, 0.0, math.nan, math.inf):
        chosen = _chosen_when_c1_says(lie_ms, make)
        assert chosen in ("c0", "c2"), f"{chosen} was chosen although c1 reported {lie_ms} ms"


def _chosen_when_c1_says(round_trip_ms: float, make: MakeStrategy) -> CrawlerId | None:
    strategy = Referee(make, seed=1, crawlers=3, silent_share=0.0).strategy

    def answer(probe: Probe) -> ProbeAnswer:
        return ProbeAnswer(round_trip_ms if probe.crawler == "c1" else 40.0)

    return drive(strategy.delegate(ELSEWHERE, 0.0), answer).crawler


@LEARNING_STRATEGY.promise
def two_delegations_under_way_at_once_keep_the_invariants(make: MakeStrategy) -> None:
    referee = Referee(make, seed=1, crawlers=4, silent_share=0.0)

    def answer(probe: Probe) -> ProbeAnswer:
        return ProbeAnswer(referee.round_trip_ms(probe.crawler, probe.target.address))

    first = referee.strategy.delegate(HOME, 0.0)
    probe = next(first)
    second = referee.delegate(site_at("11.1.1.2"))
    decision = drive(first, answer, reply=answer(probe))
    assert second.crawler is not None
    assert referee.strategy.owner_of(HOME) == decision.crawler
    referee.check_owners()


@SPARING_STRATEGY.promise
def a_dead_target_is_not_probed_by_everybody_nor_again_at_once(make: MakeStrategy) -> None:
    referee = Referee(make, seed=1, crawlers=8, silent_share=1.0)
    assert len(referee.delegate(ELSEWHERE).probes) < 8
    assert referee.delegate(ELSEWHERE).probes == ()
