"""Made-up crowds under the coordinator's own rules: liars go, honest hosts stay."""

from __future__ import annotations

import pytest

from ipmicra.lab.simulation.lying_hosts import HostGroup, LyingHostsTrial


@pytest.mark.parametrize("dynamic_share", [0.0, 0.3, 0.6])
def test_hosts_that_lie_together_are_found_out_and_nobody_else(dynamic_share: float) -> None:
    group = HostGroup(hosts=20, liars=8, altered_share=0.5, colluding=True, dynamic_share=dynamic_share)
    played = LyingHostsTrial(group, seed=1).play(comparisons=400)
    assert set(played.dismissed) == set(range(8))


@pytest.mark.parametrize("dynamic_share", [0.0, 0.3, 0.6])
def test_without_liars_nobody_is_near_a_dismissal(dynamic_share: float) -> None:
    played = LyingHostsTrial(HostGroup(liars=0, dynamic_share=dynamic_share), seed=2).play(
        comparisons=400
    )
    assert played.dismissed == {}
    assert played.honest_suspicion_max < 0.6


def test_a_host_that_alters_half_of_its_pages_is_found_out_within_a_hundred_comparisons() -> None:
    played = LyingHostsTrial(HostGroup(liars=1, altered_share=0.5), seed=3).play(comparisons=100)
    assert set(played.dismissed) == {0}
