"""Loads and capacities -> the units that move, and their new crawlers, so that no crawler is overfull.

The published heuristics, the true optimum, and our own policy, behind one interface (`policies`). Their
cost is the sum of all round trips (the later IPMicra paper, III.F).

Invariant: pure. Units and crawlers are rows and columns here; `snapshot` translates from and to a strategy.
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
