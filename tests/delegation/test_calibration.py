"""When times change for good, delegations follow; when they flap, nothing does."""

from __future__ import annotations

import pytest

from ipmicra.delegation.calibration import (
    Calibration,
    CalibrationSettings,
    CalibrationVerdict,
    recalibrate,
)
from ipmicra.delegation.driver import drive
from ipmicra.model.probes import ProbeAnswer
from tests.delegation.worlds import crawler, driven, never_asked, strategy_with, target, told

A = crawler("a")
SITE = target("192.0.2.1")
GROUND = SITE.address


def verdicts(times_ms: list[float], settings: CalibrationSettings | None = None) -> str:
    """One letter a time: fine, slow, look again."""
    calibration = Calibration(settings or CalibrationSettings())
    return "".join(
        calibration.observe(GROUND, A, time_ms, float(second))[0]
        for second, time_ms in enumerate(times_ms)
    )


@pytest.mark.parametrize(
    ("times_ms", "said"),
    [
        ([20, 21, 19, 22, 20], "fffff"),
        ([20, 20, 90, 20, 90, 90, 20], "ffsfssf"),  # slow, but never three times in a row
        ([20, 20, 90, 90, 90], "ffssl"),
        ([2, 2, 7, 7, 7], "fffff"),  # more than twice, but who cares for five milliseconds
        ([200, 200, 260, 300, 320], "fffff"),  # not twice the history
        ([20, 22, 26, 30, 36, 40, 44, 50], "ffffffff"),  # a slow drift is followed
    ],
)
def test_a_time_is_judged_by_its_own_history(times_ms: list[float], said: str) -> None:
    assert verdicts(times_ms) == said


def test_factor_and_repeats_are_the_operators() -> None:
    eager = CalibrationSettings(factor=1.2, rise_ms_min=1.0, repeats=1)
    assert verdicts([20, 20, 26], eager) == "ffl"


class Play:
    """A site owned by `a`, fetched once a minute in a world that changes."""

    def __init__(self, settings: CalibrationSettings | None = None) -> None:
        self.strategy = strategy_with("first-fit@50/order=joined", "a b")
        self.calibration = Calibration(settings or CalibrationSettings())
        self.now_s = 0.0
        self.looks = self.moves = 0
        driven(self.strategy.delegate(SITE, 0.0), told({"a": 20.0, "b": 45.0}))

    def fetch(self, world: dict[str, float]) -> None:
        self.now_s += 60.0
        owner = self.strategy.owner_of(SITE)
        assert owner is not None
        verdict = self.calibration.observe(GROUND, owner, world[owner], self.now_s)
        if verdict is CalibrationVerdict.LOOK_AGAIN:
            self.look(world, world[owner])

    def look(self, world: dict[str, float], time_ms: float) -> None:
        talk = recalibrate(self.strategy, self.calibration, SITE, time_ms, self.now_s)
        found = drive(talk, lambda probe: ProbeAnswer(world[probe.crawler]))
        assert found is not None
        self.looks += 1
        self.moves += found.moved


def test_a_route_that_changes_for_good_moves_the_subnet_once() -> None:
    play = Play()
    for minute in range(500):
        play.fetch({"a": 20.0 if minute < 100 else 200.0, "b": 45.0})
    assert (play.strategy.owner_of(SITE), play.moves) == ("b", 1)


def test_where_everybody_became_slower_it_stays_and_the_new_times_are_normal() -> None:
    play = Play()
    for minute in range(500):
        play.fetch({"a": 20.0, "b": 45.0} if minute < 100 else {"a": 90.0, "b": 95.0})
    assert (play.strategy.owner_of(SITE), play.moves, play.looks) == ("a", 0, 1)


def test_a_gain_too_small_to_pay_for_the_move_moves_nothing() -> None:
    play = Play()
    for minute in range(500):
        play.fetch({"a": 20.0 if minute < 100 else 52.0, "b": 45.0})
    assert (play.strategy.owner_of(SITE), play.moves) == ("a", 0)


def test_a_route_that_flaps_faster_than_the_repeats_is_left_alone() -> None:
    play = Play()
    for minute in range(2000):
        play.fetch({"a": 200.0 if minute % 4 >= 2 else 20.0, "b": 45.0})
    assert (play.looks, play.moves) == (0, 0)


def test_two_routes_that_flap_against_each_other_make_no_flapping_delegation() -> None:
    play, flaps = Play(), 0
    for minute in range(20_000):  # two weeks; every ten minutes the good route becomes the bad one
        bad_a = (minute // 10) % 2 == 1
        flaps += minute % 10 == 0
        play.fetch({"a": 200.0 if bad_a else 20.0, "b": 20.0 if bad_a else 200.0})
    assert flaps == 2000
    assert 1 <= play.moves <= 10


def test_a_strategy_that_has_nothing_to_move_is_left_in_peace() -> None:
    play = Play()
    play.strategy.on_crawler_slept(A)
    talk = recalibrate(play.strategy, play.calibration, SITE, 300.0, 0.0)
    assert drive(talk, never_asked) is None


def test_histories_are_bounded() -> None:
    calibration = Calibration(CalibrationSettings(grounds_max=3, repeats=1))
    for number in range(10):
        calibration.observe(target(f"192.0.2.{number}").address, A, 10.0, 0.0)
    verdict = calibration.observe(target("192.0.2.0").address, A, 500.0, 1.0)
    assert verdict is CalibrationVerdict.FINE  # forgotten, so it begins again
