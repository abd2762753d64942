"""Judged questions of several sites -> weights of the signals, cross-validated by site.

A linear model whose loss is the cross entropy of the right page among the candidates (listwise, as ListNet
has it), weights never negative, pulled towards the present ones. The weights that are printed come from
all questions; how good they are on a site that took no part is printed for each site. Nothing of the test
part is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from benchmarks.search_parts.documentation import JudgedQuestion
from benchmarks.search_parts.measures import measures
from ipmicra.search.ranking import answer_builder
from ipmicra.search.ranking.ranking import AUTHORITY_WEIGHT, LINKS_WEIGHT
from ipmicra.search.ranking.signals import SIGNALS, WEIGHTS, page_worths
from ipmicra.search.tantivy.index import TantivyIndex

_ROUNDS = 600
_RATE = 0.02
_PULL = 0.002  # towards the present weights

Vector: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]


class _Example(NamedTuple):
    question: JudgedQuestion
    matrix: np.ndarray[tuple[int, int], np.dtype[np.float64]]  # signals, times what each page is worth
    right: Vector  # 1 for pages that are right


def learn(index: TantivyIndex, questions: Sequence[JudgedQuestion]) -> None:
    examples = [one for question in questions if (one := _example(index, question)) is not None]
    print(f"{len(examples)} of {len(questions)} questions have their page among the candidates")
    present = np.array([WEIGHTS[name] for name in SIGNALS])
    print(f"{'site left out':20} {'asked':>6} {'present':>14} {'learned':>14}   first (MRR)")
    before, after = [], []
    for site in sorted({one.question.site for one in examples}):
        held_out = [one for one in examples if one.question.site == site]
        learned = _fitted([one for one in examples if one.question.site != site], present)
        old, new = _ranks(held_out, present), _ranks(held_out, learned)
        before += old
        after += new
        print(f"{site:20} {len(held_out):6} {_told(old):>14} {_told(new):>14}")
    print(f"{'all, held out':20} {len(before):6} {_told(before):>14} {_told(after):>14}")
    for name, weight in zip(SIGNALS, _fitted(examples, present), strict=True):
        print(f'    "{name}": {weight:.2f},')


def _told(ranks: Sequence[int]) -> str:
    found = measures(ranks)
    return f"{found.first:.1%} ({found.mrr:.3f})"


def _example(index: TantivyIndex, question: JudgedQuestion) -> _Example | None:
    """As the engine sees it: signals of every candidate."""
    seen = answer_builder.explain(index, index.catalogue, question.text)
    worth = page_worths(seen.names)
    lift = 1 + LINKS_WEIGHT * seen.candidates.links + AUTHORITY_WEIGHT * seen.candidates.authority
    urls = [page.url for page in index.catalogue.shown(seen.candidates.identity.tolist()).values()]
    by_identity = dict(zip(index.catalogue.shown(seen.candidates.identity.tolist()), urls, strict=True))
    right = np.array(
        [
            float(by_identity.get(identity, "") in question.urls)
            for identity in seen.candidates.identity.tolist()
        ]
    )
    if not right.any():
        return None
    return _Example(question, seen.matrix * (worth * lift)[:, None], right)


def _fitted(examples: Sequence[_Example], start: Vector) -> Vector:
    """By Adam (Kingma and Ba 2015), on all examples at once. A kind counts by the root of its size."""
    kinds = Counter(one.question.kind for one in examples)
    total = sum(count**0.5 for count in kinds.values())
    share = {kind: count**-0.5 / total for kind, count in kinds.items()}
    weights = start.copy()
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    for number in range(1, _ROUNDS + 1):
        slope = sum((_slope(one, weights) * share[one.question.kind] for one in examples), 0 * weights)
        slope += _PULL * (weights - start)
        mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope**2
        step = (mean / (1 - 0.9**number)) / (np.sqrt(square / (1 - 0.999**number)) + 1e-8)
        weights = np.maximum(0.0, weights - _RATE * step)
    return weights


def _slope(one: _Example, weights: Vector) -> Vector:
    scores = _SHARPNESS * (one.matrix @ weights)
    chance = np.exp(scores - scores.max())
    chance /= chance.sum()
    wanted = chance * one.right
    wanted /= wanted.sum() + 1e-12
    slope: Vector = (chance - wanted) @ one.matrix
    return slope


_SHARPNESS = 2.0  # how much a difference in score decides


def _ranks(examples: Sequence[_Example], weights: Vector) -> list[int]:
    ranks = []
    for one in examples:
        scores = one.matrix @ weights
        best = scores[one.right > 0].max()
        rank = 1 + int((scores > best).sum())
        ranks.append(rank if rank <= 10 else 0)
    return ranks
