"""Allocations -> the tree of subnets, and what was done to them on the way.

The rules are in `nesting` (parents, equal and crossing ranges) and `merging` (facts of equal ranges).
Memory: one column at a time is whole; what is finished is as narrow as it will stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ipmicra.addresses import Family
from ipmicra.hierarchy.allocation import FACTS, Allocations
from ipmicra.hierarchy.columns import TreeColumns, TreeNames
from ipmicra.hierarchy.nested_ranges import Nesting, nested
from ipmicra.hierarchy.organisation import UNKNOWN
from ipmicra.hierarchy.ranks import RankedAddresses
from ipmicra.hierarchy.record_merge import first_stated
from ipmicra.hierarchy.texts import PackedTexts, TextTable
from ipmicra.hierarchy.tree import SubnetTree

FactColumn: TypeAlias = NDArray[Any]  # of the type that its name has in `FACTS`, or narrower
JUMP_BITS_MAX = 24
V4_LAST = (1 << 32) - 1
V6_LAST = (1 << 64) - 1  # of each half


@dataclass(frozen=True)
class BuildTally:
    """Counts of the build: it makes `allocations - duplicates` subnets beside the two roots."""

    allocations: int
    duplicates: int  # records whose range another record, or a root, has already
    crossing: int  # distinct ranges that were shortened since they crossed another


class Built(NamedTuple):
    tree: SubnetTree
    tally: BuildTally


def build_tree(allocations: Allocations) -> Built:
    """The tree of these allocations. They stay as they are, and may be added to for the next tree."""
    v4 = nested(*(_with_root(allocations, 4, name) for name in ("start", "last")))
    ranks = RankedAddresses.of(*(_with_root(allocations, 6, name) for name in ("start", "last")))
    v6 = nested(ranks.starts, ranks.lasts)
    facts = {name: _facts(allocations, name, v4, v6) for name in FACTS}
    tally = BuildTally(
        allocations=len(allocations),
        duplicates=len(allocations) + 2 - len(v4.starts) - len(v6.starts),
        crossing=v4.crossing + v6.crossing,
    )
    organisations = len(allocations.organisations)
    return Built(SubnetTree(_columns(v4, v6, ranks, facts, organisations), _names(allocations)), tally)


def _with_root(allocations: Allocations, family: Family, name: str) -> FactColumn:
    """A column of bounds, and at its end the root's, which thereby yields to every equal range."""
    whole = V4_LAST if family == 4 else [V6_LAST, V6_LAST]
    column = allocations.column(family, name)
    root = np.full((1, *column.shape[1:]), 0 if name == "start" else whole, column.dtype)
    return np.concatenate((column, root))


def _facts(allocations: Allocations, name: str, v4: Nesting, v6: Nesting) -> FactColumn:
    """A column of facts over the subnets of both families, as narrow as can be."""
    blank = UNKNOWN if name == "organisation" else 0
    parts: list[FactColumn] = []
    for family, nesting in ((4, v4), (6, v6)):
        column = allocations.column(4 if family == 4 else 6, name)
        column = np.append(column, np.array(blank, column.dtype))
        parts.append(_narrowed(first_stated(column, nesting.order, nesting.is_first, blank), name))
    facts = np.concatenate(parts)
    return facts[:0] if name == "asn" and not facts.any() else facts


def _narrowed(column: FactColumn, name: str) -> FactColumn:
    is_table_number = FACTS[name] is np.uint16
    return column.astype(np.uint8) if is_table_number and int(column.max()) < 256 else column


def _columns(
    v4: Nesting, v6: Nesting, ranks: RankedAddresses, facts: dict[str, FactColumn], organisations: int
) -> TreeColumns:
    v6_starts, v6_lasts = ranks.first_addresses(v6.starts), ranks.last_addresses(v6.lasts)
    by_organisation, bounds = _organisation_order(facts["organisation"], organisations)
    v6_parents = v6.parents + np.int32(len(v4.starts))
    v6_parents[0] = -1
    return TreeColumns(
        v4_starts=v4.starts,
        v4_lasts=v4.lasts,
        v4_jumps=_jumps(v4.starts),
        v6_starts_high=v6_starts[0],
        v6_starts_low=v6_starts[1],
        v6_lasts_high=v6_lasts[0],
        v6_lasts_low=v6_lasts[1],
        parents=np.concatenate((v4.parents, v6_parents)),
        organisations=facts["organisation"],
        countries=facts["country"],
        registries=facts["registry"],
        statuses=facts["status"],
        sources=facts["source"],
        asns=facts["asn"],
        by_organisation=by_organisation,
        organisation_bounds=bounds,
    )


def _jumps(starts: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The place of each block of addresses among the starts, and at the end that of the end.

    About one block for two subnets: 2 bytes per subnet, and a lookup then takes a few steps.
    """
    bits = min(max(len(starts) // 2, 1).bit_length() - 1, JUMP_BITS_MAX)
    blocks = np.arange(1 << bits, dtype=np.uint64) << np.uint64(32 - bits)
    return np.append(np.searchsorted(starts, blocks.astype(np.uint32)), len(starts)).astype(np.uint32)


def _organisation_order(
    organisations: NDArray[np.int32], count: int
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """The subnets sorted by organisation, without the unknown ones, and where each one's begin."""
    order = np.argsort(organisations, kind="stable").astype(np.uint32)
    sizes = np.bincount(organisations + 1, minlength=count + 1)
    return order[sizes[0] :], np.concatenate(([0], np.cumsum(sizes[1:]))).astype(np.uint32)


def _names(allocations: Allocations) -> TreeNames:
    def packed(texts: TextTable) -> PackedTexts:
        return PackedTexts.of(texts.texts())

    return TreeNames(
        countries=packed(allocations.countries),
        registries=packed(allocations.registries),
        statuses=packed(allocations.statuses),
        sources=packed(allocations.sources),
        organisation_registries=PackedTexts.of(allocations.organisations.registries),
        organisation_handles=PackedTexts.of(allocations.organisations.handles),
        organisation_names=PackedTexts.of(allocations.organisations.names),
    )
