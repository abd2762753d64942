"""Names of strategies -> strategies, with their parameters, and what is refused."""

from __future__ import annotations

import random

import pytest

from ipmicra.delegation.registry import STRATEGIES, settings_named, strategy_named
from ipmicra.delegation.subnets import NoSubnets
from ipmicra.errors import OperatorFault


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_is_made_by_its_bare_name(name: str) -> None:
    strategy = strategy_named(name, NoSubnets(), random.Random(1))
    assert len(strategy.crawlers) == 0


def test_the_sign_at_sets_the_main_parameter() -> None:
    name, settings = settings_named("hash@autumn")
    assert (name, getattr(settings, "salt", None)) == ("hash", "autumn")


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("nearest", "unknown strategy 'nearest'"),
        ("random@3", "has no parameter for '@'"),
        ("hash/pepper=1", "does not accept 'pepper=1'"),
        ("hash/loud", "does not accept 'loud'"),
    ],
)
def test_a_wrong_spec_is_the_operators_fault_and_says_what_there_is(spec: str, complaint: str) -> None:
    with pytest.raises(OperatorFault, match=complaint):
        settings_named(spec)
