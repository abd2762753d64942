"""All the examples there are -> the few hundred that are worth weighing for one site.

Who shares something with the site is weighed: its country, system, organisation, subnet, a neighbouring
address, the towns around. Of the rest, which could stand anywhere, an even sample is enough to be
surprised by. Where a group is too large for its share of the room, an even sample of it stands for it.

Law: no more examples than there is room for; the same examples and site give the same sample.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipmicra.delegation.adaptive.arrays import Shorts, Singles, Whole
from ipmicra.delegation.adaptive.examples import Examples
from ipmicra.delegation.adaptive.facts import Facts, block_size

# Of the room: for those of the country, the system, the organisation, the subnet and the neighbouring
# addresses; for the towns around; and for anybody.
ROOMS = (0.25, 0.125, 0.125, 0.125, 0.125)
ROOM_AROUND = 0.125
ROOM_ANYWHERE = 0.125


class Near(NamedTuple):
    """What is near a country: how the fixed rows share it out, and which of them get most."""

    shares: Singles
    total: float
    nearest_first: Whole


def weighable(facts: Facts, wanted: Shorts, near: Near | None, examples: Examples, room: int) -> Whole:
    """The rows to be weighed, in order. `wanted` are the identities that would be a tie."""
    count = examples.count
    if count <= room:
        return np.arange(count)
    chosen = np.zeros(count, dtype=np.bool_)
    chosen[:: -(-count // int(ROOM_ANYWHERE * room))] = True
    if near is not None:
        chosen[near.nearest_first[: int(ROOM_AROUND * room)]] = True
    same = (examples.identities == wanted).ravel().nonzero()[0]
    ends = same.searchsorted(np.arange(1, 5) * count).tolist()
    begin = 0
    for number, (end, share) in enumerate(zip(ends, ROOMS, strict=False)):
        if end > begin:
            chosen[_some(same[begin:end], int(share * room)) - number * count] = True
        begin = end
    if facts.family:
        apart = examples.keys[:count] ^ np.uint64(facts.key)
        beside = (apart < np.uint64(block_size(facts.family))).nonzero()[0]
        chosen[_some(beside, int(ROOMS[-1] * room))] = True
    return chosen.nonzero()[0]


def _some(rows: Whole, most: int) -> Whole:
    """All of them, or as many as there is room for, evenly."""
    return rows if len(rows) <= most else rows[:: -(-len(rows) // most)]
