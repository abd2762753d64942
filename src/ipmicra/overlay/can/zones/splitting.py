"""A zone, its owner and a newcomer -> where the zone is cut, and which peer gets which part.

All schemes of the CAN-on-NC paper (IV): DL, MPP, NH, GH, MP, and SWITCH between two of them. The paper
does not say which peer keeps which part after a cut, nor where NH and GH cut. Both affect the result, so
both are written out in a scheme's text:

    MP                 the middle point between the two peers, along the axis where they differ most
    MP/slab            the same along the axis with the largest difference times side: no thin slabs
    DL/blind           halves, dimensions in turn; the newcomer gets the upper half, wherever it is
    DL/owner           ... the owner keeps the part that holds the owner
    DL/newcomer        ... the newcomer gets the part that holds the newcomer
    NH/median/owner    the most loaded neighbour's zone, cut at the median of its sites
    MP_30_NH/median    MP for the first 30 % of the peers, NH with median cuts from then on
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Literal, NamedTuple, TypeAlias, get_args

from ipmicra.errors import OperatorFault
from ipmicra.model.zones import SpacePoint, ZoneBox

SchemeName: TypeAlias = Literal["DL", "MPP", "NH", "GH", "MP"]
Keeping: TypeAlias = Literal["blind", "owner", "newcomer"]
SCHEME_NAMES: tuple[SchemeName, ...] = get_args(SchemeName)
KEEPINGS: tuple[Keeping, ...] = get_args(Keeping)


class Scheme(NamedTuple):
    """One scheme with its rules."""

    name: SchemeName
    keeping: Keeping = "owner"
    at_median: bool = False  # cut at the median of the sites instead of the middle
    against_slabs: bool = False  # MP only

    @classmethod
    def parse(cls, text: str) -> Scheme:
        name, *rules = text.split("/")
        keeping: Keeping = "owner"
        for rule in rules:
            if rule in KEEPINGS:
                keeping = rule
            elif rule not in ("median", "slab"):
                raise OperatorFault(
                    f"splitting scheme {text!r}: unknown rule {rule!r}; see the list of schemes"
                )
        if name not in SCHEME_NAMES:
            raise OperatorFault(f"unknown splitting scheme {name!r}; known: {', '.join(SCHEME_NAMES)}")
        return cls(name, keeping, "median" in rules or name == "MPP", "slab" in rules)


class Switch(NamedTuple):
    """What a bootstrap peer writes into join requests: one scheme, then another."""

    first: str
    then: str
    after_share: float  # share of the expected peers

    @classmethod
    def parse(cls, text: str) -> Switch:
        """From "MP_30_NH/median", or one scheme for all."""
        parts = text.split("_")
        if len(parts) == 3 and parts[1].isdigit():
            first, share, then = parts
        elif len(parts) == 1:
            first, share, then = text, "100", text
        else:
            raise OperatorFault(
                f"unknown splitting scheme {text!r}; write MP, or MP_30_NH for a switch at 30 %"
            )
        Scheme.parse(first)
        Scheme.parse(then)
        return cls(first, then, int(share) / 100)

    def scheme_for(self, joined: int, expected: int) -> str:
        return self.first if joined < self.after_share * expected else self.then


class Cut(NamedTuple):
    """The two parts: the one that stays with the owner, and the newcomer's."""

    kept: ZoneBox
    given: ZoneBox


def cut_for(
    scheme: Scheme,
    zone: ZoneBox,
    owner: SpacePoint,
    newcomer: SpacePoint,
    site_keys: Sequence[SpacePoint],
    splits: int,
) -> Cut:
    """How `zone` is divided. `splits`: how often it has been divided before."""
    if scheme.name == "MP":
        return _middle_point_cut(scheme, zone, owner, newcomer, splits)
    axis = _axis_in_turn(zone, splits)
    at = _median_of(axis, zone, site_keys) if scheme.at_median else None
    lower, upper = zone.cut(axis, zone.centre[axis] if at is None else at)
    return _shared_out(scheme.keeping, lower, upper, owner, newcomer)


def _axis_in_turn(zone: ZoneBox, splits: int) -> int:
    """The next dimension; one that is too thin to be cut (sites on the boundary) is skipped."""
    turns = [(splits + later) % zone.dimensions for later in range(zone.dimensions)]
    return next((axis for axis in turns if zone.cuttable(axis, zone.centre[axis])), turns[0])


def _middle_point_cut(
    scheme: Scheme, zone: ZoneBox, owner: SpacePoint, newcomer: SpacePoint, splits: int
) -> Cut:
    """The newcomer always gets the part that holds its point; peers at the same point halve the zone."""
    differences = [abs(a - b) for a, b in zip(owner, newcomer, strict=True)]
    sides = zone.sides if scheme.against_slabs else (1.0,) * zone.dimensions
    merit = [difference * side for difference, side in zip(differences, sides, strict=True)]
    for axis in sorted(range(zone.dimensions), key=lambda axis: -merit[axis]):
        at = (owner[axis] + newcomer[axis]) / 2
        if differences[axis] > 0 and zone.cuttable(axis, at):
            lower, upper = zone.cut(axis, at)
            return Cut(lower, upper) if newcomer[axis] >= at else Cut(upper, lower)
    axis = max(range(zone.dimensions), key=lambda axis: zone.sides[axis])
    lower, upper = zone.cut(axis, zone.centre[axis])
    return _shared_out("newcomer", lower, upper, owner, newcomer)


def _median_of(axis: int, zone: ZoneBox, site_keys: Sequence[SpacePoint]) -> float | None:
    """The median of the sites along the axis, if it cuts the zone."""
    if not site_keys:
        return None
    at = median(key[axis] for key in site_keys)
    return at if zone.cuttable(axis, at) else None


def _shared_out(
    keeping: Keeping, lower: ZoneBox, upper: ZoneBox, owner: SpacePoint, newcomer: SpacePoint
) -> Cut:
    if keeping == "owner" and upper.holds(owner):
        return Cut(kept=upper, given=lower)
    if keeping == "newcomer" and lower.holds(newcomer):
        return Cut(kept=upper, given=lower)
    return Cut(kept=lower, given=upper)
