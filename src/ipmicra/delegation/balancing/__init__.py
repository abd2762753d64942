"""Loads and capacities -> which grounds move to which crawler, so that nobody is overfull.

The published heuristics, the true optimum, and our own policy, behind one interface (`policies`). What
they cost is judged by the sum of all round trips (the later IPMicra paper, III.F).

Law: pure. Grounds and crawlers are rows and columns here; `picture` translates from and to a strategy.
"""

from ipmicra.delegation.balancing.estimates import Belief, Believed, TriangleBelief
from ipmicra.delegation.balancing.loads import Assignment, Loads, Question
from ipmicra.delegation.balancing.policies import POLICIES, Balancing
from ipmicra.delegation.balancing.regions import RegionalBelief

__all__ = [
    "POLICIES",
    "Assignment",
    "Balancing",
    "Belief",
    "Believed",
    "Loads",
    "Question",
    "RegionalBelief",
    "TriangleBelief",
]
