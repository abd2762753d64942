"""Loads and capacities -> which grounds move to which crawler, so that nobody is overfull.

The published heuristics, the true optimum, and our own policy, behind one interface (`policies`). What
they cost is judged by the sum of all round trips (the later IPMicra paper, III.F).

Law: pure. Grounds and crawlers are rows and columns here; `picture` translates from and to a strategy.
"""

from ipmicra.delegation.balancing.estimates import (
    RoundTripEstimate,
    RoundTripEstimator,
    TriangleEstimator,
)
from ipmicra.delegation.balancing.loads import Loads, RoundTripQuery, UnitAssignment
from ipmicra.delegation.balancing.policies import POLICIES, Balancing
from ipmicra.delegation.balancing.regions import RegionalEstimator

__all__ = [
    "POLICIES",
    "Balancing",
    "Loads",
    "RegionalEstimator",
    "RoundTripEstimate",
    "RoundTripEstimator",
    "RoundTripQuery",
    "TriangleEstimator",
    "UnitAssignment",
]
