"""All examples -> the few hundred that are weighed for one site.

Examples that share something with the site are chosen: its country, system, organisation, subnet, a
neighbouring address, the towns around. Of the others an even sample is enough to notice surprises. Where
a group is too large for its share of the space, an even sample represents it.

Invariant: at most `room` examples, or twice as many if all of them fit; the same examples and site give
the same sample. An example that shares several facts is weighed for each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ipmicra.delegation.strategies.adaptive.arrays import Singles, Whole
from ipmicra.delegation.strategies.adaptive.facts import UNKNOWN
from ipmicra.delegation.strategies.adaptive.training.examples import Examples
from ipmicra.delegation.strategies.adaptive.training.groups import NOBODY

# Reasons why an example is in the sample. The last five are identities, in the order of `identities_of`.
ANYWHERE, NEAR, COUNTRY, SYSTEM, ORGANISATION, SUBNET, ADDRESS = range(7)
# The share of the space for each of these.
ROOMS = (0.125, 0.125, 0.25, 0.125, 0.125, 0.125, 0.125)
FIXED_PART = 8  # one part in 8 for crawlers and one for towns, which are few


class Near(NamedTuple):
    """The places near a country: the share of each fixed row, and the rows with the largest shares."""

    shares: Singles
    total: float
    nearest_first: Whole


class ExampleSample(NamedTuple):
    """Rows in parts: those next door to crawlers, then towns, then sites; in each of these by reason."""

    rows: Whole
    doors: int  # number of rows next door to crawlers
    fixed: int  # the same with the towns
    reasons: list[int]  # of each part
    begins: list[int]  # of each part
    lengths: list[int]  # of each part


class _Picking:
    """Parts in the order they are picked."""

    def __init__(self) -> None:
        self.parts: list[Whole] = []
        self.reasons: list[int] = []
        self.begins: list[int] = []
        self.lengths: list[int] = []
        self.count = 0

    def pick(self, reason: int, rows: Whole, most: int) -> None:
        """Pick all rows, or an even sample of at most `most`."""
        if len(rows):
            part = rows if len(rows) <= most else rows[:: -(-len(rows) // most)]
            self.parts.append(part)
            self.reasons.append(reason)
            self.begins.append(self.count)
            self.lengths.append(len(part))
            self.count += len(part)


def sampled(
    identities: Sequence[int], near: Near | None, examples: Examples, room: int
) -> ExampleSample:
    """`identities` are those to look for, UNKNOWN for those not to look for."""
    step = 1 if examples.count <= room else -(-examples.count // int(ROOMS[ANYWHERE] * room))
    wanted = [
        (reason, identity, int(ROOMS[reason] * room))
        for reason, identity in enumerate(identities, COUNTRY)
        if identity != UNKNOWN
    ]
    picking, everybody = _Picking(), examples.numbers
    picking.pick(ANYWHERE, everybody[: examples.doors : step], room)
    for reason, identity, most in wanted:
        picking.pick(reason, examples.by_door.sharing(reason - COUNTRY, identity), most // FIXED_PART)
    doors = picking.count
    picking.pick(ANYWHERE, everybody[examples.doors : examples.fixed : step], room)
    if near is not None:
        picking.pick(NEAR, near.nearest_first[: int(ROOMS[NEAR] * room)], room)
    for reason, identity, most in wanted[:1]:  # of towns the country is known, nothing else
        picking.pick(reason, examples.by_town.sharing(reason - COUNTRY, identity), most // FIXED_PART)
    fixed = picking.count
    picking.pick(ANYWHERE, everybody[: examples.sites : step], room)
    for reason, identity, most in wanted:
        left = most - 2 * (most // FIXED_PART)
        picking.pick(reason, examples.by_site.sharing(reason - COUNTRY, identity), left)
    rows = np.concatenate(picking.parts) if picking.parts else NOBODY
    rows[fixed:] += examples.fixed
    return ExampleSample(rows, doors, fixed, picking.reasons, picking.begins, picking.lengths)
