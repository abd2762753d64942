"""Whose silence is it? A table of what is seen and what it is taken for."""

from __future__ import annotations

import pytest

from ipmicra.delegation.partition import Connectivity, PartitionDetector, next_detector

LEASE_S = 100.0
NOW_S = 10_000.0
WELL, CUT_OFF, AGAIN = Connectivity.WELL, Connectivity.CUT_OFF, Connectivity.AGAIN


@pytest.mark.parametrize(
    ("summary", "before", "silent_s", "after"),
    [
        ("all speak", WELL, [1, 20, 40], WELL),
        ("nobody is here", WELL, [], WELL),
        ("one of two died", WELL, [1, 99], WELL),
        ("the only one is silent", WELL, [51], CUT_OFF),
        ("all fell silent at once", WELL, [51, 60, 75], CUT_OFF),
        ("nearly all fell silent at once", WELL, [1, *[60] * 11], CUT_OFF),
        ("a third of them is cut off", WELL, [*[1] * 8, *[60] * 4], WELL),
        ("nobody yet", CUT_OFF, [160, 170], CUT_OFF),
        ("nobody for years", CUT_OFF, [1e8, 1e8], CUT_OFF),
        ("the first of two is back", CUT_OFF, [1, 170], AGAIN),
        ("the first of twelve is back", CUT_OFF, [1, *[170] * 11], CUT_OFF),
        ("two of twelve are back", CUT_OFF, [1, 2, *[170] * 10], AGAIN),
        ("one of twelve has long been the only one", CUT_OFF, [1, *[401] * 11], AGAIN),
        ("everybody had a lease since", AGAIN, [1, 60], WELL),
        ("gone again at once", AGAIN, [60, 60], CUT_OFF),
    ],
)
def test_what_is_heard_tells_whose_silence_it_is(
    summary: str, before: Connectivity, silent_s: list[float], after: Connectivity
) -> None:
    heard_s = [NOW_S - each for each in silent_s]
    detector = next_detector(PartitionDetector(before, NOW_S - 1), NOW_S, heard_s, LEASE_S)
    assert detector == PartitionDetector(after, NOW_S), summary


@pytest.mark.parametrize("before", list(Connectivity))
@pytest.mark.parametrize("silent_s", [[1.0], [500.0, 600.0], []])
def test_who_slept_holds_nobody_silent_for_it(before: Connectivity, silent_s: list[float]) -> None:
    heard_s = [NOW_S - each for each in silent_s]
    assert (
        next_detector(PartitionDetector(before, NOW_S - 51), NOW_S, heard_s, LEASE_S).connectivity
        is AGAIN
    )


def test_who_begins_gives_everybody_a_lease_before_one_can_end() -> None:
    assert next_detector(PartitionDetector(), NOW_S, [NOW_S], LEASE_S).connectivity is AGAIN
    assert next_detector(PartitionDetector(), NOW_S, [NOW_S - 1_000], LEASE_S).connectivity is CUT_OFF
