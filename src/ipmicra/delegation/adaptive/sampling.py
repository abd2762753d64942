"""All the examples there are -> the few hundred that are worth weighing for one site.

Who shares something with the site is weighed: its country, system, organisation, subnet, a neighbouring
address, the towns around. Of the rest, which could stand anywhere, an even sample is enough to be
surprised by. Where a group is too large for its share of the room, an even sample of it stands for it.

Law: no more examples than there is room for; the same examples and site give the same sample.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ipmicra.delegation.adaptive.arrays import Singles, Whole

# Of the room: for those of the country, the system, the organisation and the subnet; for neighbouring
# addresses; for the towns around; and for anybody.
ROOMS = (0.25, 0.125, 0.125, 0.125)
ROOM_BESIDE = 0.125
ROOM_AROUND = 0.125
ROOM_ANYWHERE = 0.125


class Near(NamedTuple):
    """What is near a country: how the fixed rows share it out, and which of them get most."""

    shares: Singles
    total: float
    nearest_first: Whole


def weighable(same: NDArray[np.bool_], beside: Whole, near: Near | None, room: int) -> Whole:
    """The rows to be weighed, in order. `same` tells by identity and row who shares it with the site,
    `beside` the rows of neighbouring addresses."""
    count = same.shape[1]
    if count <= room:
        return np.arange(count)
    chosen = np.zeros(count, dtype=np.bool_)
    chosen[:: -(-count // int(ROOM_ANYWHERE * room))] = True
    if near is not None:
        chosen[near.nearest_first[: int(ROOM_AROUND * room)]] = True
    for alike, share in zip(same, ROOMS, strict=True):
        chosen[_some(alike.nonzero()[0], int(share * room))] = True
    chosen[_some(beside, int(ROOM_BESIDE * room))] = True
    return chosen.nonzero()[0]


def _some(rows: Whole, most: int) -> Whole:
    """All of them, or as many as there is room for, evenly."""
    return rows if len(rows) <= most else rows[:: -(-len(rows) // most)]
