"""Allocations -> the tree of subnets.

Invariant: pure. Arrays come in, answers go out; no file, no clock, no dice. Files are `registry`'s.
"""

from ipmicra.hierarchy.allocation import Allocation, AllocationColumns, Allocations
from ipmicra.hierarchy.build import BuildTally, Built, build_tree
from ipmicra.hierarchy.tree import Subnet, SubnetTree

__all__ = [
    "Allocation",
    "AllocationColumns",
    "Allocations",
    "BuildTally",
    "Built",
    "Subnet",
    "SubnetTree",
    "build_tree",
]
