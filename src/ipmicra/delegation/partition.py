"""Last heartbeats of crawlers, and our last check -> whether they are silent or we are cut off.

| observation                                                | conclusion                |
|------------------------------------------------------------|---------------------------|
| enough crawlers send heartbeats                            | connected                 |
| none, or nearly none of the recently active ones, do       | we are cut off ourselves  |
| they do again after that, or we did not check for long     | connected again           |

Invariant: a crawler loses its sites only while we are connected, and never for a time in which we may
have been cut off: when the connection is back, every crawler gets a full lease. If no crawler sends
heartbeats this costs nothing, since no crawler could take the sites over either.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

HEARD_LEASES = 0.5  # a heartbeat within this: it is alive (heartbeats come four times per lease)
RECENT_LEASES = 4.0  # a heartbeat within this: it counts among those that should send heartbeats
HEARD_SHARE_MIN = 0.125  # of those; if fewer send heartbeats, our own connection is the likely cause
PAUSED_LEASES = 0.5  # longer between two checks: this process was paused


class Connectivity(StrEnum):
    WELL = "well"  # leases expire normally
    CUT_OFF = "cut off"  # perhaps: no lease expires
    AGAIN = "again"  # no lease expires, and all begin again


class PartitionDetector(NamedTuple):
    """State between two checks. Starts as cut off: we do not know how long we were down."""

    connectivity: Connectivity = Connectivity.CUT_OFF
    checked_s: float | None = None


def next_detector(
    detector: PartitionDetector, now_s: float, heard_s: Sequence[float], lease_s: float
) -> PartitionDetector:
    """The state after a check: `heard_s` has the last heartbeat of each crawler with a lease."""
    return PartitionDetector(_connectivity(detector, now_s, heard_s, lease_s), now_s)


def _connectivity(
    detector: PartitionDetector, now_s: float, heard_s: Sequence[float], lease_s: float
) -> Connectivity:
    if detector.checked_s is not None and now_s - detector.checked_s > PAUSED_LEASES * lease_s:
        return Connectivity.AGAIN
    if _is_cut_off([now_s - moment_s for moment_s in heard_s], lease_s):
        return Connectivity.CUT_OFF
    return Connectivity.AGAIN if detector.connectivity is Connectivity.CUT_OFF else Connectivity.WELL


def _is_cut_off(silent_s: Sequence[float], lease_s: float) -> bool:
    speaking = sum(each <= HEARD_LEASES * lease_s for each in silent_s)
    lately = sum(each <= RECENT_LEASES * lease_s for each in silent_s)
    return bool(silent_s) and (speaking == 0 or speaking < HEARD_SHARE_MIN * lately)
