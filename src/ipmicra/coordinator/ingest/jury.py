"""A page as its crawler sent it and as other hosts see it -> whether they contradict the crawler.

One host is asked first. If it sees another page, more hosts are asked in rounds, up to a jury. Invariant:
pure. A page that changes with each request gives no contradiction, because its observers contradict each
other; nor do fewer than `AGREEING_MIN` hosts, or fewer than two thirds of those that looked.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from ipmicra.model.similarity import bits_apart

BITS_APART_MAX = 16  # of 64: beyond, two texts have little in common
ROUNDS = (1, 3, 7, 15, 31)  # witnesses in all, round by round
AGREEING_MIN = 3  # two hosts alone never contradict a crawler
AGREEING_SHARE = (
    2 / 3
)  # of the jury; colluding hosts that are 2 in 5 reach it in one jury of 700 at most


class Fingerprint(NamedTuple):
    """How a page looks: a hash of all its content, and 64 bits that change little with small changes."""

    content_hash: str
    similarity_hash: int  # 0: too little text


class Outcome(StrEnum):
    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    DYNAMIC = "dynamic"  # its witnesses contradict each other too
    UNDECIDED = "undecided"  # too few witnesses, or too little text
    MORE = "more"  # ask the next round


class Verdict(NamedTuple):
    outcome: Outcome
    agreeing: frozenset[int] = frozenset()  # positions of the looks that make up the majority
    witnesses: int = 0  # wanted in all, where the outcome is MORE


def are_alike(one: Fingerprint, other: Fingerprint) -> bool | None:
    """Whether two observations are alike; None if the texts are too short."""
    if one.content_hash == other.content_hash:
        return True
    if not one.similarity_hash or not other.similarity_hash:
        return None
    return bits_apart(one.similarity_hash, other.similarity_hash) <= BITS_APART_MAX


def verdict_on(sent: Fingerprint, looks: Sequence[Fingerprint], is_last: bool = False) -> Verdict:
    """The verdict of the observations so far. `is_last`: no host is left to ask."""
    told = {
        at: likeness for at, look in enumerate(looks) if (likeness := are_alike(sent, look)) is not None
    }
    confirming = frozenset(at for at, likeness in told.items() if likeness)
    if not told:
        return Verdict(Outcome.UNDECIDED)
    if 2 * len(confirming) >= len(told):
        return Verdict(Outcome.CONFIRMED, confirming)
    if len(told) == 1 and not is_last:
        return Verdict(Outcome.MORE, witnesses=ROUNDS[1])
    agreeing = _largest_group([at for at, likeness in told.items() if not likeness], looks)
    if len(agreeing) < AGREEING_SHARE * len(told):
        return Verdict(Outcome.DYNAMIC, agreeing)
    following = next((size for size in ROUNDS if size > len(told)), None)
    if following is not None and not is_last:
        return Verdict(Outcome.MORE, witnesses=following)
    if len(agreeing) < AGREEING_MIN:
        return Verdict(Outcome.UNDECIDED, agreeing)
    return Verdict(Outcome.CONTRADICTED, agreeing)


def _largest_group(positions: Sequence[int], looks: Sequence[Fingerprint]) -> frozenset[int]:
    """The most looks that are alike one of them."""
    groups = (
        frozenset(other for other in positions if are_alike(looks[at], looks[other])) for at in positions
    )
    return max(groups, key=len, default=frozenset())
