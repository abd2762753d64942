"""A belief -> lines that say what was believed and why asking ended.

Law: the numbers shown are those that decided, in words a person can check.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ipmicra.delegation.adaptive.belief import Belief
from ipmicra.delegation.adaptive.closeness import TIES
from ipmicra.delegation.adaptive.worth import nearest_shares
from ipmicra.delegation.crawlers import CrawlerProfile
from ipmicra.delegation.decision import Step

CANDIDATES_SHOWN = 4


def ties_step(belief: Belief) -> Step:
    """What the site has in common with the examples, by what each tie weighed."""
    shares = belief.prior.by_tie.sum(axis=1)
    order = np.argsort(-shares, kind="stable")
    named = [f"{TIES[int(belief.prior.ties[tie])]} {shares[tie]:.0%}" for tie in order]
    return Step("what it was judged by", ", ".join(named))


def candidates_step(belief: Belief, crawlers: Sequence[CrawlerProfile]) -> Step:
    """The likeliest crawlers: expected round trip, probability of being the nearest, bound."""
    _, weights, means_ms, _ = belief.foretold()
    means = np.asarray(weights @ means_ms, dtype=np.float64)
    shares = nearest_shares(weights, means_ms)
    shown = np.argsort(means - shares * means.max(initial=1.0), kind="stable")[:CANDIDATES_SHOWN]
    return Step(
        "believed",
        "; ".join(
            f"{crawlers[c].id} {means[c]:.1f} ms, nearest with {shares[c]:.0%},"
            f" at least {belief.bounds_ms[c]:.1f} ms"
            for c in shown
        ),
    )


def stop_step(crawler: str, saving_ms: float, price_ms: float) -> Step:
    """Why no further probe was asked for."""
    return Step(
        "stopped",
        f"the best further probe, from {crawler}, would save {saving_ms:.2f} ms on average,"
        f" less than its price of {price_ms:.2f} ms",
    )
