"""Loads and capacities -> which units move to which crawler, so that no one is overfull.

The published heuristics, the true optimum, and our own policy, behind one interface (`policies`). What
they cost is judged by the sum of all round trips (the later IPMicra paper, III.F).

Invariant: pure. Units and crawlers are rows and columns here; `picture` translates from and to a strategy.
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
