"""When crawlers were last heard, and when we last looked -> whether a silence is theirs or our own.

| what is seen                                              | it is taken for           |
|-----------------------------------------------------------|---------------------------|
| enough of them speak                                      | we hear well              |
| nobody speaks, or nearly nobody of those who lately did   | we are cut off ourselves  |
| they speak again after that, or we did not look for long  | we hear again             |

Law: a crawler loses its sites only while we hear well, and never for a time in which we may have been deaf:
who hears again gives everybody a whole lease. That costs nothing where nobody speaks, since there is nobody
to take the sites over either.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

SPEAKS_LEASES = 0.5  # heard within this: it speaks (a sign of life comes four times in a lease)
LATELY_LEASES = 4.0  # heard within this: it counts among those who ought to speak
SPEAKING_SHARE_MIN = 0.125  # of those; fewer at once are our line's fault sooner than theirs
NODDED_LEASES = 0.5  # between two looks: longer, and it was we who slept


class Connectivity(StrEnum):
    WELL = "well"  # leases end as they stand
    CUT_OFF = "cut off"  # perhaps: no lease ends
    AGAIN = "again"  # no lease ends, and all begin anew


class PartitionDetector(NamedTuple):
    """What a look leaves for the next one. At first nobody knows how long nobody listened."""

    hearing: Connectivity = Connectivity.CUT_OFF
    looked_s: float | None = None


def listened(
    ear: PartitionDetector, now_s: float, heard_s: Sequence[float], lease_s: float
) -> PartitionDetector:
    """A look: `heard_s` has one moment for each crawler whose lease runs."""
    return PartitionDetector(_hearing(ear, now_s, heard_s, lease_s), now_s)


def _hearing(
    ear: PartitionDetector, now_s: float, heard_s: Sequence[float], lease_s: float
) -> Connectivity:
    if ear.looked_s is not None and now_s - ear.looked_s > NODDED_LEASES * lease_s:
        return Connectivity.AGAIN
    if _nearly_all_are_silent([now_s - moment_s for moment_s in heard_s], lease_s):
        return Connectivity.CUT_OFF
    return Connectivity.AGAIN if ear.hearing is Connectivity.CUT_OFF else Connectivity.WELL


def _nearly_all_are_silent(silent_s: Sequence[float], lease_s: float) -> bool:
    speaking = sum(each <= SPEAKS_LEASES * lease_s for each in silent_s)
    lately = sum(each <= LATELY_LEASES * lease_s for each in silent_s)
    return bool(silent_s) and (speaking == 0 or speaking < SPEAKING_SHARE_MIN * lately)
