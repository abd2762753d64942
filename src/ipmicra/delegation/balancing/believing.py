"""Round trips that were measured -> what to believe of those that were not.

Law: a belief has a value and a spread everywhere, and repeats what was measured with spread 0. It is
handed in: a strategy that knows more (countries, organisations, past sites) hands in its own.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.float64]

UNREACHED = 10.0  # times the slowest round trip there is: what silence is taken for
SPREAD_SHARE = 0.25  # of the width between the bounds, as if they were two standard deviations off


class Believed(NamedTuple):
    """Ground by crawler."""

    round_trips_ms: Numbers
    spread_ms: Numbers


class Belief(Protocol):
    """NaN in `known_ms` is unknown, infinite is a silence."""

    def __call__(self, known_ms: Numbers) -> Believed: ...


class TriangleBelief:
    """From the crawlers' round trips to each other, and nothing else.

    Whoever measured r, at d from another crawler, leaves that one between |d - r| and d + r; the
    narrowest of all such bounds hold, and their middle is believed.
    """

    def __init__(self, mutual_ms: Numbers) -> None:
        """`mutual_ms`: crawler by crawler, 0 on the diagonal."""
        self._mutual_ms = mutual_ms

    def __call__(self, known_ms: Numbers) -> Believed:
        measured = np.isfinite(known_ms)
        least, most = self._bounds(known_ms, measured)
        slowest = float(known_ms[measured].max(initial=float(self._mutual_ms.max(initial=1.0))))
        middle = np.where(measured, known_ms, (least + most) / 2)
        middle[np.isinf(known_ms)] = UNREACHED * slowest
        spread = np.where(np.isnan(known_ms), np.maximum(1.0, SPREAD_SHARE * (most - least)), 0.0)
        return Believed(middle, spread)

    def _bounds(self, known_ms: Numbers, measured: NDArray[np.bool_]) -> tuple[Numbers, Numbers]:
        """One measuring crawler at a time, so that memory stays that of the table."""
        least = np.zeros_like(known_ms)
        most = np.full_like(known_ms, 2 * float(self._mutual_ms.max(initial=1.0)))
        for crawler, mutual_ms in enumerate(self._mutual_ms):
            rows = measured[:, crawler]
            own = known_ms[rows, crawler][:, None]
            least[rows] = np.maximum(least[rows], np.abs(mutual_ms[None, :] - own))
            most[rows] = np.minimum(most[rows], mutual_ms[None, :] + own)
        return least, np.maximum(most, least)  # routes that break the triangle cross the bounds


class CorrectedBelief:
    """A belief, corrected by the errors that probes show it to make.

    Grounds near to one crawler are believed alike about another, and err alike: the mean error of those
    that were probed is taken from the rest. As if one probe before had shown no error.
    """

    def __init__(self, belief: Belief, crawlers: int) -> None:
        self._belief = belief
        self._errors_ms = np.zeros((crawlers, crawlers))  # by nearest crawler and probed crawler
        self._counts = np.zeros((crawlers, crawlers))

    def __call__(self, known_ms: Numbers) -> Believed:
        raw, spread = self._belief(known_ms)
        mean_error_ms = self._errors_ms / (self._counts + 1.0)
        corrected = np.maximum(raw + mean_error_ms[_nearest(known_ms)], 0.0)
        return Believed(np.where(np.isnan(known_ms), corrected, raw), spread)

    def learn(self, before_ms: Numbers, after_ms: Numbers) -> None:
        """What was known before a round of probes and after it."""
        raw = self._belief(before_ms).round_trips_ms
        grounds, crawlers = np.nonzero(np.isnan(before_ms) & np.isfinite(after_ms))
        places = _nearest(before_ms)[grounds], crawlers
        np.add.at(self._errors_ms, places, after_ms[grounds, crawlers] - raw[grounds, crawlers])
        np.add.at(self._counts, places, 1.0)


def _nearest(known_ms: Numbers) -> NDArray[np.int64]:
    """For each ground the crawler that measured the shortest round trip; the first where none did."""
    return np.asarray(np.where(np.isfinite(known_ms), known_ms, np.inf).argmin(axis=1), dtype=np.int64)
