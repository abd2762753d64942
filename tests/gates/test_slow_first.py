"""Every test runs once, and each worker's piece of the list begins with slow ones."""

from __future__ import annotations

import pytest

from tests.slow_first import slow_first


@pytest.mark.parametrize("workers", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("tests", ["", "S", "qqSqqqqqSqS", "SSSSq", "qqqqqqqqqqqqqS"])
def test_every_test_is_there_once_whatever_the_number_of_workers(tests: str, workers: int) -> None:
    numbered = list(enumerate(tests))
    ordered = slow_first(numbered, lambda test: test[1] == "S", workers)
    assert sorted(ordered) == numbered


def test_each_worker_begins_with_its_share_of_slow_tests() -> None:
    assert "".join(slow_first("qqqqSqqqSqSq", "S".__eq__, 3)) == "SqqqSqqqSqqq"
    assert "".join(slow_first("SSSSqqqq", "S".__eq__, 2)) == "SSqqSSqq"
