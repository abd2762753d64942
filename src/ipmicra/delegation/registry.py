"""The strategies by name, and a short notation for one with its parameters.

    random                       the strategy with its defaults
    ipmicra@25                   its main parameter, here the threshold in ms
    ipmicra@25/inherit           a word that stands for a parameter's value
    ipmicra@50/silent_probes_max=2

The notation uses no commas, so that strategies can be listed with commas between them.

Invariant: every strategy is in this table; the contract test runs over the table.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import msgspec

from ipmicra.delegation.strategies.adaptive import Adaptive, AdaptiveSettings
from ipmicra.delegation.strategies.exhaustive import BruteForce, Worst
from ipmicra.delegation.strategies.first_fit import FirstFit, FirstFitSettings
from ipmicra.delegation.strategies.ipmicra import IPMicra, IPMicraSettings
from ipmicra.delegation.strategies.random_and_hash import (
    HashStrategy,
    HashStrategyBase,
    NoSettings,
    RandomStrategy,
)
from ipmicra.delegation.strategy import Strategy
from ipmicra.delegation.subnets import SubnetLookup
from ipmicra.errors import OperatorFault

ChosenStrategy = TypeVar("ChosenStrategy", bound=msgspec.Struct)


@dataclass(frozen=True)
class StrategyEntry(Generic[ChosenStrategy]):
    """How to build a strategy: `settings` is a frozen Struct type, `build` takes an instance of it.

    `main` is the parameter that `@` sets; `words` are the bare words after `/` and what they set.
    """

    summary: str
    settings: type[ChosenStrategy]
    build: Callable[[SubnetLookup, random.Random, ChosenStrategy], Strategy]
    main: str | None = None
    words: Mapping[str, tuple[str, str]] = field(default_factory=dict)


STRATEGIES: dict[str, StrategyEntry[Any]] = {
    "random": StrategyEntry("a random crawler (UCYMicra)", NoSettings, RandomStrategy),
    "hash": StrategyEntry(
        "by a hash of the site's name, weighted, as in most crawlers today",
        HashStrategyBase,
        HashStrategy,
        main="salt",
    ),
    "brute-force": StrategyEntry(
        "probe from all and take the nearest: the optimum", NoSettings, BruteForce
    ),
    "worst": StrategyEntry("probe from all and take the farthest: for the figures", NoSettings, Worst),
    "first-fit": StrategyEntry(
        "probe one crawler after another, stop below the threshold",
        FirstFitSettings,
        FirstFit,
        main="threshold",
    ),
    "ipmicra": StrategyEntry(
        "the registries' tree selects the crawlers to probe, stop below the threshold (IPMicra)",
        IPMicraSettings,
        IPMicra,
        main="threshold",
        words={word: ("organisation", word) for word in ("inherit", "confirm")},
    ),
    "adaptive": StrategyEntry(
        "the most useful probe next, until no probe is worth its price in ms",
        AdaptiveSettings,
        Adaptive,
        main="price",
    ),
}


def strategy_named(spec: str, tree: SubnetLookup, rng: random.Random) -> Strategy:
    """A new strategy by its notation, without any history."""
    name, settings = settings_named(spec)
    return STRATEGIES[name].build(tree, rng, settings)


def settings_named(spec: str) -> tuple[str, msgspec.Struct]:
    """A strategy's name, and its settings, validated."""
    head, *options = spec.split("/")
    name, at, main_value = head.partition("@")
    if (entry := STRATEGIES.get(name)) is None:
        raise OperatorFault(f"unknown strategy {name!r}; known: {', '.join(STRATEGIES)}")
    values: dict[str, str] = {}
    if at:
        if entry.main is None:
            raise OperatorFault(f"strategy {name!r} has no parameter for '@', given in {spec!r}")
        values[entry.main] = main_value
    values |= dict(_option(entry, option, spec) for option in options)
    try:
        return name, msgspec.convert(values, entry.settings, strict=False)
    except msgspec.ValidationError as wrong:
        raise OperatorFault(f"strategy {spec!r}: {wrong}") from None


def _option(entry: StrategyEntry[Any], option: str, spec: str) -> tuple[str, str]:
    key, equals, value = option.partition("=")
    if not equals and key in entry.words:
        return entry.words[key]
    if not equals or key not in entry.settings.__struct_fields__:
        known = [*entry.words, *(f"{name}=..." for name in entry.settings.__struct_fields__)]
        raise OperatorFault(
            f"strategy {spec!r} does not accept {option!r}; it accepts: {', '.join(known) or 'nothing'}"
        )
    return key, value
