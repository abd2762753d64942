"""Facts of numbered examples -> those that share a country, system, organisation, subnet or block with a
site.

Groups are updated when an example is added, so that a lookup needs no search.

Invariant: a group is in the order in which its members came, and the first member leaves first; empty
groups are removed, so there are at most five per example.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ipmicra.delegation.strategies.adaptive.arrays import Whole
from ipmicra.delegation.strategies.adaptive.facts import UNKNOWN

KINDS = 5  # country, system, organisation, subnet and block of addresses, as `identities_of` has them
FIRST_ROOM = 4
NOBODY: Whole = np.zeros(0, dtype=np.int64)


class Queue:
    """Numbers that come at one end and go at the other, always in one piece."""

    def __init__(self) -> None:
        self._room: Whole = np.empty(FIRST_ROOM, dtype=np.int64)
        self._begin = self._end = 0

    def append(self, number: int) -> None:
        if self._end == len(self._room):
            here = self.all()
            self._room = np.empty(max(FIRST_ROOM, 2 * len(here)), dtype=np.int64)
            self._room[: len(here)] = here
            self._begin, self._end = 0, len(here)
        self._room[self._end] = number
        self._end += 1

    def drop_first(self) -> None:
        self._begin += 1

    def all(self) -> Whole:
        return self._room[self._begin : self._end]

    def __len__(self) -> int:
        return self._end - self._begin


class Groups:
    """Per kind of identity: its number -> the examples that have it."""

    def __init__(self) -> None:
        self._members: list[dict[int, Queue]] = [{} for _ in range(KINDS)]

    def add(self, example: int, identities: Sequence[int]) -> None:
        for members, identity in zip(self._members, identities, strict=True):
            if identity != UNKNOWN:
                members.setdefault(identity, Queue()).append(example)

    def drop_oldest(self, identities: Sequence[int]) -> None:
        """The example that came first of all, which had these."""
        for members, identity in zip(self._members, identities, strict=True):
            if identity != UNKNOWN:
                members[identity].drop_first()
                if not len(members[identity]):
                    del members[identity]

    def sharing(self, kind: int, identity: int) -> Whole:
        """Examples of that identity."""
        members = self._members[kind].get(identity)
        return NOBODY if members is None else members.all()
