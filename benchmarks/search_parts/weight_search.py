"""How questions fare under weights -> the weights that are best for one half of the sites, and what they do
for the other.

Invariant: pure, dice come in. The choice uses no question about a site of the other half. Every kind of
question counts alike, however many there are of it, and none may pay for the others with more than
`LOSS_MAX`. The spread is over sites, drawn again and again with replacement (bootstrap): questions about
one site are not independent.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from benchmarks.search_parts.judged import Judged
from benchmarks.search_parts.weights import TRIED, Weights

DRAWS = 2_000
ROUNDS_MAX = 3
LEAST_GAIN = 1e-9  # a tie stays as it is
LOSS_MAX = 0.005  # of the reciprocal rank of one kind of question

Ranks = Callable[[Weights], Sequence[int]]
Measure = Callable[[int], float]


def reciprocal(rank: int) -> float:
    return 1 / rank if rank else 0.0


def gain(rank: int) -> float:
    return 1 / math.log2(rank + 1) if rank else 0.0


class Spread(NamedTuple):
    """A difference, and between what values 95 of 100 draws find it."""

    mean: float
    least: float
    most: float


def halves(questions: Sequence[Judged], dice: random.Random) -> tuple[list[int], list[int]]:
    """Numbers of questions. Half of the sites of each kind of question is in one, half in the other."""
    first: set[str] = set()
    seen: set[str] = set()
    for kind in sorted({one.kind for one in questions}):
        sites = sorted({one.site for one in questions if one.kind == kind} - seen)
        first.update(dice.sample(sites, len(sites) // 2))
        seen.update(sites)
    in_first = [number for number, one in enumerate(questions) if one.site in first]
    return in_first, sorted(set(range(len(questions))) - set(in_first))


def mean_of(
    questions: Sequence[Judged], half: Sequence[int], ranks: Sequence[int], measure: Measure
) -> float:
    """Each kind counts alike."""
    by_kind = _by_kind(questions, half, ranks, measure)
    return sum(by_kind.values()) / len(by_kind)


def _by_kind(
    questions: Sequence[Judged], half: Sequence[int], ranks: Sequence[int], measure: Measure
) -> dict[str, float]:
    values: defaultdict[str, list[float]] = defaultdict(list)
    for number in half:
        values[questions[number].kind].append(measure(ranks[number]))
    return {kind: sum(some) / len(some) for kind, some in values.items()}


def chosen(questions: Sequence[Judged], half: Sequence[int], ranks: Ranks, start: Weights) -> Weights:
    """One weight after the other at its best for this half, until none can be bettered."""
    at_start = _by_kind(questions, half, ranks(start), reciprocal)

    def worth(weights: Weights) -> float:
        found = _by_kind(questions, half, ranks(weights), reciprocal)
        if any(value < at_start[kind] - LOSS_MAX for kind, value in found.items()):
            return 0.0
        return sum(found.values()) / len(found)

    best = start
    for _ in range(ROUNDS_MAX):
        before = best
        for name, values in TRIED.items():
            for value in values:
                other = best._replace(**{name: value})
                if worth(other) > worth(best) + LEAST_GAIN:
                    best = other
        if best == before:
            break
    return best


def difference(
    questions: Sequence[Judged],
    half: Sequence[int],
    before: Sequence[int],
    after: Sequence[int],
    dice: random.Random,
) -> Spread:
    """By how much the reciprocal rank is better after."""
    by_kind: defaultdict[str, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for number in half:
        one = questions[number]
        by_kind[one.kind][one.site].append(reciprocal(after[number]) - reciprocal(before[number]))
    drawn = sorted(_drawn(by_kind, dice) for _ in range(DRAWS))
    mean = sum(map(_mean, by_kind.values())) / len(by_kind)
    return Spread(mean, drawn[int(0.025 * DRAWS)], drawn[int(0.975 * DRAWS)])


def _drawn(by_kind: Mapping[str, Mapping[str, list[float]]], dice: random.Random) -> float:
    total = 0.0
    for sites in by_kind.values():
        drawn = dice.choices(list(sites.values()), k=len(sites))
        total += sum(map(sum, drawn)) / sum(map(len, drawn))
    return total / len(by_kind)


def _mean(sites: Mapping[str, list[float]]) -> float:
    values = [value for some in sites.values() for value in some]
    return sum(values) / len(values)
