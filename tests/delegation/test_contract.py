"""Every strategy of the table keeps the promises of `ipmicra.testing`."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ipmicra.delegation.registry import STRATEGIES, strategy_named
from ipmicra.testing import LEARNING_STRATEGY, SPARING_STRATEGY, STRATEGY, Contract, check_hash_seeds
from ipmicra.testing.strategy_referee import MakeStrategy, course_of

ASKS_NOBODY = ("random", "hash")
LEARNING = [name for name in STRATEGIES if name not in (*ASKS_NOBODY, "worst")]
SPARING = [name for name in LEARNING if name != "brute-force"]


def check(contract: Contract[MakeStrategy], name: str, promise: str) -> None:
    contract.check_promise(promise, lambda: nullcontext(partial(strategy_named, name)))


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("promise", STRATEGY.promises)
def test_every_strategy_keeps_its_promises(name: str, promise: str) -> None:
    check(STRATEGY, name, promise)


@pytest.mark.parametrize("name", LEARNING)
@pytest.mark.parametrize("promise", LEARNING_STRATEGY.promises)
def test_every_strategy_that_goes_by_probes_keeps_its_promises(name: str, promise: str) -> None:
    check(LEARNING_STRATEGY, name, promise)


@pytest.mark.parametrize("name", SPARING)
@pytest.mark.parametrize("promise", SPARING_STRATEGY.promises)
def test_every_strategy_but_brute_force_spares_probes(name: str, promise: str) -> None:
    check(SPARING_STRATEGY, name, promise)


@pytest.mark.parametrize("name", STRATEGIES)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=8, deadline=None)
def test_the_invariants_hold_in_any_world(name: str, seed: int) -> None:
    assert len(course_of(partial(strategy_named, name), seed)) == 60


def test_no_decision_depends_on_the_order_of_a_set() -> None:
    check_hash_seeds(*STRATEGIES)
