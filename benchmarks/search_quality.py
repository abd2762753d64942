"""How often is the page that someone looks for among the first results, and what does each signal add?

Known-item questions made from real pages (the sets of benchmarks/extraction.py, all in one index; see
search_parts/judged.py): MRR and nDCG over the first ten results, and the share of questions whose page comes
first, as the ranking is and with one signal taken away.

With --choose: weights are chosen on half of the sites and tried on the other half, which took no part in the
choice, and the other way round (search_parts/choosing.py). A setting is better if it is better there.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence

from benchmarks.search_parts.judged import JudgedSet, judged_set
from benchmarks.search_parts.weight_search import (
    chosen,
    difference,
    gain,
    halves,
    mean_of,
    reciprocal,
)
from benchmarks.search_parts.weights import Trial, Weights, present

VARIANTS: dict[str, dict[str, float]] = {
    "as it is": {},
    "without links between pages": {"links": 0.0},
    "without authority of sites": {"authority": 0.0},
    "without both": {"links": 0.0, "authority": 0.0},
    "all fields alike": {"title": 1, "headings": 0, "anchors": 1},
    "without link texts": {"anchors": 0},
    "without lifting by names": {"names": 0.0},
}
_SEED = 11


def main() -> None:
    parser = argparse.ArgumentParser(description="How good are the answers?")
    parser.add_argument("--choose", action="store_true", help="choose weights on half of the sites")
    parser.add_argument("--splits", type=int, default=1, help="ways to divide the sites")
    flags = parser.parse_args()
    judged = judged_set()
    if not judged.questions:
        return
    sites = len({one.site for one in judged.questions})
    print(
        f"{len(judged.indexed):,} pages indexed, {len(judged.questions):,} questions about {sites} sites"
    )
    trial = Trial(judged)
    try:
        if flags.choose:
            for split in range(flags.splits):
                _choose(judged, trial, random.Random(_SEED + split))
        else:
            _compare(judged, trial)
    finally:
        trial.close()


def _compare(judged: JudgedSet, trial: Trial) -> None:
    for kind in sorted({one.kind for one in judged.questions}):
        numbers = [number for number, one in enumerate(judged.questions) if one.kind == kind]
        print(f"{f'{len(numbers)} {kind}':36} {'MRR':>7} {'nDCG':>7} {'first':>7}")
        for name, changes in VARIANTS.items():
            ranks = trial.ranks(present()._replace(**changes))
            some = [ranks[number] for number in numbers]
            mrr, ndcg = (sum(map(measure, some)) / len(some) for measure in (reciprocal, gain))
            print(f"  {name:34} {mrr:7.3f} {ndcg:7.3f} {some.count(1) / len(some):7.1%}", flush=True)


def _choose(judged: JudgedSet, trial: Trial, dice: random.Random) -> None:
    """Both ways round: each half chooses once."""
    first, second = halves(judged.questions, dice)
    now = present()
    for one, other in ((first, second), (second, first)):
        best = chosen(judged.questions, one, trial.ranks, now)
        print(f"\npresent: {_told(now)}\nchosen:  {_told(best)}")
        print(f"{'MRR (nDCG)':38} {'present':>15} {'chosen':>15}   better by (95 % of draws of sites)")
        before, after = trial.ranks(now), trial.ranks(best)
        _row("half that chose, kinds alike", judged, one, before, after, dice)
        _row("other half, kinds alike", judged, other, before, after, dice)
        for kind in sorted({question.kind for question in judged.questions}):
            some = [number for number in other if judged.questions[number].kind == kind]
            _row(f"  {len(some)} {kind}", judged, some, before, after, dice)


def _row(
    name: str,
    judged: JudgedSet,
    half: Sequence[int],
    before: Sequence[int],
    after: Sequence[int],
    dice: random.Random,
) -> None:
    cells = [
        "{:.3f} ({:.3f})".format(
            *(mean_of(judged.questions, half, ranks, measure) for measure in (reciprocal, gain))
        )
        for ranks in (before, after)
    ]
    spread = difference(judged.questions, half, before, after, dice)
    better = f"{spread.mean:+.4f} ({spread.least:+.4f} to {spread.most:+.4f})"
    print(f"{name:38} {cells[0]:>15} {cells[1]:>15}   {better}", flush=True)


def _told(weights: Weights) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in weights._asdict().items())
