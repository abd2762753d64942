"""Weights are chosen on one half of the sites and tried on the other: neither half knows of the other."""

from __future__ import annotations

import random
from collections.abc import Sequence

from benchmarks.search_parts.judged import Judged
from benchmarks.search_parts.weight_search import chosen, difference, halves, mean_of, reciprocal
from benchmarks.search_parts.weights import Weights, present

QUESTIONS = [
    Judged(f"q{site} {number}", f"http://s{site}.example/{number}", kind)
    for site in range(20)
    for number, kind in enumerate(("titles", "titles", "links"))
]
HALF, OTHER = halves(QUESTIONS, random.Random(1))


def ranks_by(titles: int, links: int, numbers: Sequence[int]) -> list[int]:
    """Ranks of the questions with these numbers by their kind; all others are found at the first place."""
    told = {"titles": titles, "links": links}
    return [told[one.kind] if number in set(numbers) else 1 for number, one in enumerate(QUESTIONS)]


def test_no_site_is_in_both_halves_and_no_question_in_none() -> None:
    sites = [{QUESTIONS[number].site for number in half} for half in (HALF, OTHER)]
    assert not sites[0] & sites[1]
    assert sorted(HALF + OTHER) == list(range(len(QUESTIONS)))
    assert (len(sites[0]), len(sites[1])) == (10, 10)


def test_the_half_that_chooses_does_not_hear_the_other() -> None:
    """More of `names` is better for one half and ruins the other."""

    def ranks(weights: Weights) -> list[int]:
        return ranks_by(2, 2, HALF) if weights.names < 5 else ranks_by(0, 0, OTHER)

    assert chosen(QUESTIONS, HALF, ranks, present()).names == 5
    assert chosen(QUESTIONS, OTHER, ranks, present()) == present()


def test_what_makes_no_difference_stays_as_it_is() -> None:
    assert chosen(QUESTIONS, HALF, lambda _: [1] * len(QUESTIONS), present()) == present()


def test_no_kind_of_question_pays_for_the_others() -> None:
    """Titles would gain a half, links lose a little over a hundredth."""

    def ranks(weights: Weights) -> list[int]:
        return ranks_by(2, 9, HALF) if weights.names < 5 else ranks_by(1, 10, HALF)

    def harmless(weights: Weights) -> list[int]:
        return ranks_by(2, 9, HALF) if weights.names < 5 else ranks_by(1, 9, HALF)

    assert chosen(QUESTIONS, HALF, ranks, present()) == present()
    assert chosen(QUESTIONS, HALF, harmless, present()).names == 5


def test_kinds_count_alike_however_many_questions_there_are_of_each() -> None:
    assert mean_of(QUESTIONS, HALF, ranks_by(1, 2, HALF), reciprocal) == 0.75


def test_the_spread_is_over_sites_and_holds_what_is_true() -> None:
    same = ranks_by(2, 2, HALF)
    assert difference(QUESTIONS, HALF, same, same, random.Random(1)) == (0, 0, 0)
    lucky = {QUESTIONS[HALF[0]].site}
    one_site = [1 if one.site in lucky else rank for one, rank in zip(QUESTIONS, same, strict=True)]
    found = difference(QUESTIONS, HALF, same, one_site, random.Random(1))
    assert found.least == 0, "one site of ten is missing from every third draw"
    assert found.least < found.mean < found.most
    assert abs(found.mean - 0.05) < 1e-9
