"""An implementation of one of ipmicra's interfaces -> nothing, or the promise that it breaks.

For people who write a strategy, a fetcher, a search index or a package store of their own, and for the tests
of ipmicra itself. What `__all__` lists is public; docs/how-to/check-your-own-parts.md shows it. Invariant: no
test framework is needed; a check is a function that raises `PromiseBroken`.
"""

from __future__ import annotations

from ipmicra.testing.contract import Contract, PromiseBroken
from ipmicra.testing.fetcher_contract import FETCHER, FetcherBench, FetcherWorld, check_fetcher
from ipmicra.testing.hash_seeds import check_hash_seeds
from ipmicra.testing.index_contract import DURABLE_INDEX, INDEX, check_index
from ipmicra.testing.package_store_contract import PACKAGE_STORE, check_package_store
from ipmicra.testing.scripted_fetcher import ScriptedAnswer, ScriptedFetcher
from ipmicra.testing.strategy_contract import (
    LEARNING_STRATEGY,
    SPARING_STRATEGY,
    STRATEGY,
    check_strategy,
)

__all__ = [
    "DURABLE_INDEX",
    "FETCHER",
    "INDEX",
    "LEARNING_STRATEGY",
    "PACKAGE_STORE",
    "SPARING_STRATEGY",
    "STRATEGY",
    "Contract",
    "FetcherBench",
    "FetcherWorld",
    "PromiseBroken",
    "ScriptedAnswer",
    "ScriptedFetcher",
    "check_fetcher",
    "check_hash_seeds",
    "check_index",
    "check_package_store",
    "check_strategy",
]
