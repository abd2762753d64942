"""Roll-outs: one in a hundred, one in ten, all; and a halt when the new version does worse."""

from __future__ import annotations

import pytest

from ipmicra.coordinator.bundles.rollout import HostCode, Rollout, RolloutState, RolloutStep, step

SOAK_S = 60.0


def hosts(count: int, running: str = "1.0") -> list[HostCode]:
    return [HostCode(host=f"host-{number}", running=running) for number in range(count)]


class Fleet:
    """Hosts that do as they are told; some cannot run the new version."""

    def __init__(self, count: int, failing: frozenset[str] = frozenset()) -> None:
        self.codes = {code.host: code for code in hosts(count)}
        self.failing = failing
        self.now_s = 0.0
        self.rollout = Rollout(version="1.1")
        self.upgraded: list[set[str]] = []

    def look(self) -> RolloutStep:
        found = step(self.rollout, list(self.codes.values()), self.now_s, SOAK_S)
        self.rollout = found.rollout
        self.now_s += SOAK_S
        return found

    def obey(self) -> None:
        """One look, and the hosts do it."""
        upgrade = set(self.look().upgrade)
        if upgrade:
            self.upgraded.append(upgrade)
        for host in upgrade:
            works = host not in self.failing
            self.codes[host] = HostCode(
                host=host,
                running="1.1" if works else "1.0",
                refused={} if works else {"1.1": "it ended by itself"},
            )


@pytest.mark.parametrize(("count", "sizes"), [(300, [3, 27, 270]), (12, [1, 1, 10]), (1, [1])])
def test_a_healthy_version_reaches_everybody_in_three_stages(count: int, sizes: list[int]) -> None:
    fleet = Fleet(count)
    while fleet.rollout.state is RolloutState.ROLLING:
        fleet.obey()
    assert fleet.rollout.state is RolloutState.DONE
    assert [len(stage) for stage in fleet.upgraded] == sizes
    assert all(code.running == "1.1" for code in fleet.codes.values())


def test_a_version_that_fails_on_the_first_host_goes_no_further() -> None:
    everybody = frozenset(f"host-{number}" for number in range(200))
    fleet = Fleet(200, failing=everybody)
    for _ in range(10):
        fleet.obey()
    assert fleet.rollout.state is RolloutState.HALTED
    assert "rolled it back" in fleet.rollout.reason
    assert [len(stage) for stage in fleet.upgraded] == [2]


def test_in_the_second_stage_more_than_a_tenth_must_fail() -> None:
    fleet = Fleet(100)
    fleet.obey()  # the first host has it
    fleet.obey()  # and keeps it
    tenth = set(fleet.look().upgrade)
    assert len(tenth) == 9
    for number, host in enumerate(sorted(tenth)):
        failed = number == 0
        fleet.codes[host] = HostCode(
            host=host, running="1.0" if failed else "1.1", refused={"1.1": "hung"} if failed else {}
        )
    assert fleet.look().rollout.state is RolloutState.ROLLING, "one of ten may be the host's own trouble"
    second = sorted(tenth)[1]
    fleet.codes[second] = HostCode(host=second, running="1.0", refused={"1.1": "hung"})
    assert fleet.look().rollout.state is RolloutState.HALTED


def test_a_version_that_ends_more_often_than_the_old_one_is_halted() -> None:
    codes = hosts(50)
    rollout = Rollout(version="1.1")
    (chosen,) = step(rollout, codes, 0, SOAK_S).upgrade
    worse = [
        HostCode(host=code.host, running="1.1", ends_today=5) if code.host == chosen else code
        for code in codes
    ]
    halted = step(rollout, worse, 10, SOAK_S).rollout
    assert halted.state is RolloutState.HALTED
    assert "5.0 times per day" in halted.reason


def test_a_stage_waits_until_it_has_soaked() -> None:
    fleet = Fleet(1)
    fleet.obey()
    codes = list(fleet.codes.values())
    early = step(Rollout(version="1.1", stage_since_s=100), codes, 100 + SOAK_S / 2, SOAK_S)
    assert early.rollout.stage == 0


def test_hosts_that_take_no_bundles_are_left_alone() -> None:
    codes = [HostCode(host="own", takes_bundles=False), HostCode(host="lent", running="1.0")]
    assert step(Rollout(version="1.1"), codes, 0, SOAK_S).upgrade == ("lent",)
    assert step(Rollout(version="1.1"), codes[:1], 0, SOAK_S).upgrade == ()


def test_another_version_begins_with_other_hosts() -> None:
    first = [step(Rollout(version=f"2.{n}"), hosts(100), 0, SOAK_S).upgrade for n in range(20)]
    assert len(set(first)) > 10
