"""Allocations -> the tree of subnets.

Law: pure. Arrays come in, answers go out; no file, no clock, no dice. Files are `registry`'s.
"""

from ipmicra.hierarchy.allocation import Allocation, Allocations, Facts
from ipmicra.hierarchy.build import BuildTally, Built, build_tree
from ipmicra.hierarchy.tree import Subnet, SubnetTree

__all__ = [
    "Allocation",
    "Allocations",
    "BuildTally",
    "Built",
    "Facts",
    "Subnet",
    "SubnetTree",
    "build_tree",
]
