"""Ranks of right answers -> success at 1 and 3, MRR, nDCG at 10. Rank 0 is not among the first ten."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple


class Measures(NamedTuple):
    questions: int
    first: float
    first_three: float
    mrr: float
    ndcg: float


def measures(ranks: Sequence[int]) -> Measures:
    count = max(1, len(ranks))
    return Measures(
        len(ranks),
        sum(rank == 1 for rank in ranks) / count,
        sum(1 <= rank <= 3 for rank in ranks) / count,
        sum(1 / rank for rank in ranks if rank) / count,
        sum(1 / math.log2(rank + 1) for rank in ranks if rank) / count,
    )
