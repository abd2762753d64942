"""The box keeps its promises, in small: round trips with many connections, and packets per second."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from ipmicra.lab.box.box import NetworkBox
from ipmicra.lab.box.kernel.priority import measuring
from ipmicra.lab.box.measurements.rate import carried
from ipmicra.lab.box.measurements.round_trips import measure, ruler
from ipmicra.lab.box.processes.control_channel import MEASURER_PRIORITY
from ipmicra.lab.box.session import staged
from ipmicra.lab.box.trial.timing_check import Late, TimingTolerance

pytestmark = pytest.mark.usefixtures("box_allowed")
Found = TypeVar("Found")
TRIES = 3


def on_time(
    folder: Path, asked_ms: list[float], patience: TimingTolerance, ask: Callable[[NetworkBox], Found]
) -> Found:
    """What was found in the first try in which the router was on time; the last try decides."""
    for left in reversed(range(TRIES)):
        with staged(ruler(asked_ms), folder / str(left)) as box, measuring(MEASURER_PRIORITY):
            found = ask(box)
            try:
                box.check_on_time(patience=patience)
            except Late:
                if not left:
                    raise
            else:
                return found
    raise AssertionError("the last try returns or raises")


def test_medians_are_within_a_millisecond_with_many_connections(tmp_path: Path) -> None:
    asked_ms = [1.0, 10.0, 80.0, 350.0]
    rows = on_time(
        tmp_path, asked_ms, TimingTolerance(), lambda box: asyncio.run(measure(box, 30, pause_s=0.3))
    )
    assert [row.asked_ms for row in rows] == asked_ms
    assert max(row.worst_error_ms for row in rows) <= 1.0


def test_thousands_of_packets_a_second_come_through(tmp_path: Path) -> None:
    patience = TimingTolerance(
        late_ms=8.0, share_max=0.05
    )  # a burst may queue; what counts is that all come
    found = on_time(tmp_path, [40.0], patience, lambda box: carried(box, 5_000, 1.0))
    assert found.sent == 5_000
    assert found.received == found.sent
    assert 20.0 <= found.one_way_ms <= 21.0
