"""Tests in the order of their files -> an order in which each worker begins with its share of the slow ones.

pytest-xdist divides the list into equal pieces and lets idle workers steal from the ends. So quick tests are
left to be stolen, and no worker is alone with a slow test at the end of the run.
Invariant: every test is there once, and the order is the same in all workers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import TypeVar

Test = TypeVar("Test")


def slow_first(tests: Sequence[Test], is_slow: Callable[[Test], bool], workers: int) -> list[Test]:
    slow = [test for test in tests if is_slow(test)]
    quick = iter([test for test in tests if not is_slow(test)])
    ordered: list[Test] = []
    for worker in range(workers):
        share = slow[worker::workers]
        piece = (len(tests) - len(ordered)) // (workers - worker)
        ordered += [*share, *islice(quick, max(0, piece - len(share)))]
    return [*ordered, *quick]
