"""What tests of pages that hang a crawler share."""

from __future__ import annotations

from ipmicra.carrier.package import unpack
from ipmicra.model.records import VisitFailed
from tests.host.scripted_coordinator import ScriptedCoordinator

SECONDS_TO_STOP_MAX = 5.0


def failures_in(home: ScriptedCoordinator) -> dict[str, str]:
    """The kind of failure of each URL that came home as one."""
    records = [record for _, package in home.packages.values() for record in unpack(package).records]
    return {record.url: record.kind for record in records if isinstance(record, VisitFailed)}
