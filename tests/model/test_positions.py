"""Positions are told no more exactly than to a tenth of a degree, wherever they leave a machine."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from ipmicra.coordinator.assignment.heartbeats import kept_fields
from ipmicra.delegation.crawlers import GeoPosition
from ipmicra.host.settings import HostSettings, describe_rules
from ipmicra.model.positions import BLUR_KM_MAX, blurred
from ipmicra.protocol.host_messages import Heartbeat

HOME = "59.913868, 10.752245"


@given(st.floats(-90, 90), st.floats(-180, 180))
def test_a_blurred_position_is_on_the_grid_and_near(latitude: float, longitude: float) -> None:
    told = blurred((latitude, longitude))
    assert all(abs(each * 10 - round(each * 10)) < 1e-6 for each in told)
    assert GeoPosition(latitude, longitude).distance_km(GeoPosition(*told)) <= BLUR_KM_MAX


def test_a_host_reports_no_exact_position_in_any_field() -> None:
    settings = HostSettings(position=HOME)
    assert settings.coordinates() == (59.9, 10.8)
    assert describe_rules(settings)["position"] == "59.9, 10.8"


def test_of_a_host_that_tells_more_no_more_is_kept() -> None:
    told = Heartbeat(position=(59.913868, 10.752245), rules={"position": HOME, "hours": "always"})
    kept = kept_fields(told)
    assert "913868" not in msgspec.json.encode(kept).decode()
    assert kept["position"] == (59.9, 10.8)
    assert kept["rules"] == {"position": "59.9, 10.8", "hours": "always"}
