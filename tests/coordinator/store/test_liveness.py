"""Reports of hosts -> the crawlers that delegation sees."""

from __future__ import annotations

from ipmicra.coordinator.store.hosts import Host, HostState
from ipmicra.coordinator.store.liveness import profile_of
from ipmicra.delegation.crawlers import GeoPosition
from ipmicra.model.ids import LeaseEpoch


def host(**report: object) -> Host:
    return Host("oslo", "", HostState.ENROLLED, "198.51.100.1", 0.0, 1e9, LeaseEpoch(1), report)


def test_delegation_is_told_where_a_machine_stands_when_its_owner_says_so() -> None:
    assert profile_of(host(position=[59.9, 10.8]), 0.0).position == GeoPosition(59.9, 10.8)
    assert profile_of(host(), 0.0).position is None


def test_a_report_that_makes_no_sense_tells_nothing() -> None:
    profile = profile_of(host(position="Oslo", awake=True), 0.0)
    assert (profile.position, profile.awake) == (None, False)
