"""A belief -> lines that say what was believed and why asking ended.

Invariant: the numbers shown are those that decided, in words a person can check, and are put in words when
someone asks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ipmicra.delegation.decision import DecisionStep
from ipmicra.delegation.strategies.adaptive.arrays import Singles
from ipmicra.delegation.strategies.adaptive.inference.belief import Belief
from ipmicra.delegation.strategies.adaptive.inference.prior import TIES, Prior
from ipmicra.delegation.strategies.adaptive.inference.value_of_information import nearest_shares
from ipmicra.model.ids import CrawlerId

CANDIDATES_SHOWN = 4


def ties_step(prior: Prior) -> DecisionStep:
    """What the site has in common with the examples, by the weight of each tie."""

    def found() -> str:
        parts, whole = sorted(prior.gave.items(), key=lambda part: -part[1]), sum(prior.gave.values())
        return ", ".join(f"{TIES[prior.ties[reason]]} {weight / whole:.0%}" for reason, weight in parts)

    return DecisionStep("what it was judged by", found)


def candidates_step(belief: Belief, crawlers: Sequence[CrawlerId]) -> DecisionStep:
    """The likeliest crawlers: expected round trip, probability of being the nearest, bound."""
    prediction, bounds_ms = belief.prediction(), belief.bounds.least_ms

    def found() -> str:
        # Not by BLAS: its kernels have been seen to report an invalid value for finite numbers.
        means: Singles = (prediction.means_ms * prediction.weights).sum(axis=1)
        shares = nearest_shares(prediction.weights, prediction.means_ms.argmin(axis=0), len(means))
        shown = np.argsort(means - shares * means.max(initial=1.0), kind="stable")[:CANDIDATES_SHOWN]
        return "; ".join(
            f"{crawlers[c]} {means[c]:.1f} ms, nearest with {shares[c]:.0%},"
            f" at least {bounds_ms[c]:.1f} ms"
            for c in shown
        )

    return DecisionStep("believed", found)


def stop_step(crawler: CrawlerId, saving_ms: float, price_ms: float) -> DecisionStep:
    """Why no further probe was asked for."""
    return DecisionStep(
        "stopped",
        lambda: (
            f"the best further probe, from {crawler}, would save {saving_ms:.2f} ms on average,"
            f" for this site and those like it, less than its price of {price_ms:.2f} ms"
        ),
    )


def unasked_step(crawler: CrawlerId) -> DecisionStep:
    """The reason why a crawler that was not probed has the site."""
    return DecisionStep(
        "not asked",
        f"{crawler} answered for sites in the same machine room and is nearer than the probed crawlers;"
        " the first fetch checks it",
    )
