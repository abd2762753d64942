"""The columns of a tree of subnets: arrays, in memory or mapped from a file.

Subnets are numbered in walk order (outer before inner, left before right), IPv4 first: 0 is 0.0.0.0/0,
`len(v4_starts)` is ::/0. Columns about subnets go over both families. Columns of facts are as narrow as
their tables allow; `asns` is empty where no allocation has an AS number.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ipmicra.hierarchy.texts import PackedTexts

INDEX_COLUMNS = ("by_organisation", "organisation_bounds")

TableNumbers: TypeAlias = NDArray[np.uint8] | NDArray[np.uint16]


@dataclass(frozen=True)
class TreeColumns:
    """The tree without names."""

    v4_starts: NDArray[np.uint32]
    v4_lasts: NDArray[np.uint32]
    v4_jumps: NDArray[
        np.uint32
    ]  # for each value of the top bits, the first subnet from there on; a last one
    v6_starts_high: NDArray[np.uint64]
    v6_starts_low: NDArray[np.uint64]
    v6_lasts_high: NDArray[np.uint64]
    v6_lasts_low: NDArray[np.uint64]
    parents: NDArray[np.int32]  # -1 for the two roots
    organisations: NDArray[np.int32]  # -1 for unknown
    countries: TableNumbers
    registries: TableNumbers
    statuses: TableNumbers
    sources: TableNumbers
    asns: NDArray[np.uint32]
    by_organisation: NDArray[np.uint32]  # subnets sorted by organisation, unknown ones left out
    organisation_bounds: NDArray[np.uint32]  # where each organisation's part of it begins

    @property
    def tree_bytes(self) -> int:
        """Bytes that lookups and walks can touch: all columns but the index by organisation."""
        return sum(
            int(getattr(self, field.name).nbytes)
            for field in fields(self)
            if field.name not in INDEX_COLUMNS
        )

    @property
    def index_bytes(self) -> int:
        """The index by organisation, mapped but untouched until an organisation's subnets are asked for."""
        return sum(int(getattr(self, name).nbytes) for name in INDEX_COLUMNS)


@dataclass(frozen=True)
class TreeNames:
    """The texts behind the numbers."""

    countries: PackedTexts
    registries: PackedTexts
    statuses: PackedTexts
    sources: PackedTexts
    organisation_registries: PackedTexts
    organisation_handles: PackedTexts
    organisation_names: PackedTexts
