"""The condition of the search index -> one row that pages, metrics and commands read.

Invariant: only the process that integrates packages into the index writes the row. No row means that
nothing was ever wrong.
"""

from __future__ import annotations

from enum import StrEnum
from typing import assert_never

import msgspec
from sqlalchemy import Connection

from ipmicra.coordinator.store import blobs

_ROW = "index state"


class IndexCondition(StrEnum):
    WELL = "well"
    LOST = "lost"  # packages were integrated that the index does not have
    DAMAGED = "damaged"  # its files cannot be read
    REBUILDING = "rebuilding"


class IndexState(msgspec.Struct, frozen=True, kw_only=True):
    """During a rebuild, `done` of `total` packages are in the new index."""

    condition: IndexCondition = IndexCondition.WELL
    reason: str = ""
    done: int = 0
    total: int = 0
    since_s: float = 0.0

    @property
    def is_well(self) -> bool:
        return self.condition is IndexCondition.WELL

    def in_words(self) -> str:
        match self.condition:
            case IndexCondition.WELL:
                return "the index is complete"
            case IndexCondition.REBUILDING:
                progress = f"{self.done:,} of {self.total:,} packages"
                return f"the index is being rebuilt, {progress}: {self.reason}"
            case IndexCondition.LOST | IndexCondition.DAMAGED:
                return f"the index is {self.condition}: {self.reason}"
            case never:
                assert_never(never)


def index_state(connection: Connection) -> IndexState:
    body = blobs.read(connection, _ROW)
    return IndexState() if body is None else msgspec.json.decode(body, type=IndexState)


def note_index_state(connection: Connection, state: IndexState, now_s: float) -> None:
    blobs.save(connection, _ROW, msgspec.json.encode(state), now_s)
