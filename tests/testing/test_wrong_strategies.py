"""A strategy that breaks a promise is refused, by that promise's name."""

from __future__ import annotations

import random
from contextlib import nullcontext

import pytest

from ipmicra.delegation.crawlers import CrawlerProfile
from ipmicra.delegation.decision import Decision, Why
from ipmicra.delegation.delegations import DelegationUnit
from ipmicra.delegation.strategies.exhaustive import BruteForce
from ipmicra.delegation.strategies.first_fit import FirstFit, FirstFitSettings
from ipmicra.delegation.strategies.random_and_hash import NoSettings, RandomStrategy
from ipmicra.delegation.strategy import Delegating, Strategy
from ipmicra.delegation.subnets import SubnetLookup
from ipmicra.model.ids import CrawlerId
from ipmicra.model.probes import Probe, Target
from ipmicra.testing.contract import PromiseBroken
from ipmicra.testing.hash_seeds import check_hash_seeds
from ipmicra.testing.strategy_contract import (
    LEARNING_STRATEGY,
    SPARING_STRATEGY,
    STRATEGY,
    check_strategy,
)


class Wrong(Strategy):
    """Gives a unit to the crawler that `chosen` names, and probes from nobody."""

    def chosen(self, target: Target) -> CrawlerId | None:
        return min(self.crawlers.awake, default=None)

    def delegate(self, target: Target, now_s: float, *, afresh: bool = False) -> Delegating:
        yield from ()
        chosen = self.chosen(target)
        if chosen is None:
            return Decision(None, Why.NO_CRAWLER_AWAKE)
        self.give(self.unit_of(target), chosen)
        return Decision(chosen, Why.DRAWN)


class AsksTwice(Wrong):
    def delegate(self, target: Target, now_s: float, *, afresh: bool = False) -> Delegating:
        for _ in range(2):
            yield Probe(self.crawlers.awake[0], target)
        return Decision(None, Why.UNREACHABLE)


class Draws(Wrong):
    def chosen(self, target: Target) -> CrawlerId | None:
        return random.SystemRandom().choice(self.crawlers.awake or [None])


class ChoosesAnybody(Wrong):
    known: tuple[CrawlerId, ...] = ()

    def on_crawler_joined(self, profile: CrawlerProfile) -> None:
        super().on_crawler_joined(profile)
        self.known += (profile.id,)

    def chosen(self, target: Target) -> CrawlerId | None:
        return self.owner_of(target) or self.known[0]


class GivesUp(Wrong):
    def chosen(self, target: Target) -> CrawlerId | None:
        owner = self.owner_of(target)
        return owner if self.owner_of(target) in self.crawlers.awake else super().chosen(target)

    def delegate(self, target: Target, now_s: float, *, afresh: bool = False) -> Delegating:
        owner = self.owner_of(target)
        if owner is not None and not self.crawlers.is_awake(owner):
            return Decision(None, Why.UNREACHABLE)
        return (yield from super().delegate(target, now_s))


class KeepsLeavers(ChoosesAnybody):
    def on_crawler_left(self, crawler: CrawlerId) -> tuple[DelegationUnit, ...]:
        return ()


class KnowsTheFirstOnly(Wrong):
    def on_crawler_joined(self, profile: CrawlerProfile) -> None:
        if not self.crawlers.awake:
            super().on_crawler_joined(profile)


class Believes(Wrong):
    """Asks all, one after the other, and believes every number."""

    def delegate(self, target: Target, now_s: float, *, afresh: bool = False) -> Delegating:
        answers = {}
        for crawler in sorted(self.crawlers.awake):
            answers[crawler] = yield Probe(crawler, target)
        heard = {c: a.round_trip_ms for c, a in answers.items() if a.round_trip_ms is not None}
        if not heard:
            return Decision(None, Why.UNREACHABLE, probes=tuple(answers.items()))
        self.give(self.unit_of(target), chosen := min(heard, key=heard.__getitem__))
        return Decision(chosen, Why.FASTEST_OF_ALL, probes=tuple(answers.items()))


class StopsAtTheFirstSilence(Wrong):
    def delegate(self, target: Target, now_s: float, *, afresh: bool = False) -> Delegating:
        answer = yield Probe(self.crawlers.awake[0], target)
        if answer.round_trip_ms is None:
            return Decision(None, Why.UNREACHABLE)
        return (yield from super().delegate(target, now_s))


class OneAtATime(Believes):
    busy = False

    def delegate(self, target: Target, now_s: float, *, afresh: bool = False) -> Delegating:
        assert not self.busy
        self.busy = True
        decision = yield from super().delegate(target, now_s)
        self.busy = False
        return decision


class BruteForceByDefault(BruteForce):
    def __init__(self, tree: SubnetLookup, rng: random.Random) -> None:
        super().__init__(tree, rng, NoSettings())


class ByTheOrderOfASet(Wrong):
    def chosen(self, target: Target) -> CrawlerId | None:
        return next(iter(set(self.crawlers.awake)), None)


WRONG: dict[str, type[Wrong | BruteForceByDefault]] = {
    "the_invariants_hold_whatever_happens": AsksTwice,
    "the_same_seed_makes_the_same_decisions": Draws,
    "nobody_awake_nobody_chosen": ChoosesAnybody,
    "a_sleeping_owner_is_waited_for_or_another_takes_over": GivesUp,
    "what_a_leaver_had_is_delegated_again": KeepsLeavers,
    "a_newcomer_is_used": KnowsTheFirstOnly,
    "a_dead_target_goes_to_nobody": Wrong,
    "a_crawler_that_cannot_ask_says_nothing_about_the_target": StopsAtTheFirstSilence,
    "an_answer_that_cannot_be_a_round_trip_wins_nothing": Believes,
    "two_delegations_under_way_at_once_keep_the_invariants": OneAtATime,
    "a_dead_target_is_not_probed_by_everybody_nor_again_at_once": BruteForceByDefault,
}
CONTRACTS = (STRATEGY, LEARNING_STRATEGY, SPARING_STRATEGY)


def test_every_promise_has_a_strategy_that_breaks_it() -> None:
    assert list(WRONG) == [name for contract in CONTRACTS for name in contract.promises]


@pytest.mark.parametrize("promise", WRONG)
def test_a_wrong_strategy_is_refused_by_name(promise: str) -> None:
    [contract] = [each for each in CONTRACTS if promise in each.promises]
    with pytest.raises(PromiseBroken) as broken:
        contract.check_promise(promise, lambda: nullcontext(WRONG[promise]))
    assert broken.value.promise == promise
    assert isinstance(broken.value.__cause__, AssertionError)


def test_what_a_strategy_does_not_claim_is_not_demanded() -> None:
    check_strategy(lambda tree, rng: RandomStrategy(tree, rng, NoSettings()), learns=False)
    check_strategy(BruteForceByDefault, spares_probes=False)
    with pytest.raises(PromiseBroken):
        check_strategy(BruteForceByDefault)


def test_a_strategy_that_goes_by_the_order_of_a_set_is_refused() -> None:
    with pytest.raises(AssertionError, match="order of a set"):
        check_hash_seeds("tests.testing.test_wrong_strategies:ByTheOrderOfASet")


def test_a_right_strategy_of_ones_own_passes() -> None:
    check_strategy(lambda tree, rng: FirstFit(tree, rng, FirstFitSettings(threshold=10.0)))
    check_hash_seeds("first-fit@10")
