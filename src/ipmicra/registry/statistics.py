"""A tree of subnets -> what is in it: ranges, organisations, depth, by registry and by country."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from ipmicra.hierarchy.texts import PackedTexts
from ipmicra.hierarchy.tree import SubnetTree

UNKNOWN = "unknown"


class FamilyStatistics(msgspec.Struct, frozen=True):
    """One address family; the root, which is not registered, is not counted as a range."""

    ranges: int
    depth_max: int  # levels below the root
    depth_mean: float
    unary: int  # ranges of one address


class TreeStatistics(msgspec.Struct, frozen=True):
    """The whole tree. The tables are sorted, the most ranges first."""

    ipv4: FamilyStatistics
    ipv6: FamilyStatistics
    organisations: int
    registries: dict[str, int]
    countries: dict[str, int]
    statuses: dict[str, int]


def statistics_of(tree: SubnetTree) -> TreeStatistics:
    """Count everything, column by column."""
    columns, names = tree.columns, tree.names
    depths = _depths(columns.parents)
    boundary = len(columns.v4_starts)
    v4_unary = columns.v4_starts == columns.v4_lasts
    v6_unary = (columns.v6_starts_high == columns.v6_lasts_high) & (
        columns.v6_starts_low == columns.v6_lasts_low
    )
    return TreeStatistics(
        ipv4=_family(depths[:boundary], v4_unary),
        ipv6=_family(depths[boundary:], v6_unary),
        organisations=tree.organisation_count,
        registries=_table(columns.registries, columns.parents, names.registries),
        countries=_table(columns.countries, columns.parents, names.countries),
        statuses=_table(columns.statuses, columns.parents, names.statuses),
    )


def _depths(parents: NDArray[np.int32]) -> NDArray[np.int32]:
    """Steps to the root, all subnets climbing at once."""
    depths = np.zeros(len(parents), np.int32)
    climbing = parents.copy()
    while (below := climbing >= 0).any():
        depths += below
        climbing = np.where(below, parents[climbing], climbing)
    return depths


def _family(depths: NDArray[np.int32], unary: NDArray[np.bool_]) -> FamilyStatistics:
    below_root = depths[1:]
    mean = float(below_root.mean()) if len(below_root) else 0.0
    return FamilyStatistics(
        ranges=len(below_root),
        depth_max=int(depths.max(initial=0)),
        depth_mean=round(mean, 2),
        unary=int(unary.sum()),
    )


def _table(
    numbers: NDArray[np.uint8] | NDArray[np.uint16], parents: NDArray[np.int32], texts: PackedTexts
) -> dict[str, int]:
    counts = np.bincount(numbers[parents >= 0], minlength=len(texts)).tolist()
    named = [(texts[number] or UNKNOWN, count) for number, count in enumerate(counts) if count]
    return dict(sorted(named, key=lambda item: (-item[1], item[0])))
