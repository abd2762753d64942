"""Comparisons of a crawler's pages, one by one -> the evidence against it.

For each of three hypotheses ("it alters 1, 10 or 50 % of its pages") a sum of log likelihood ratios is kept
that never falls below 0 (Page 1954, the CUSUM test). A page that changed by itself between two looks has the
probability that control looks have found on its site (`SiteChange`), so a changing site excuses. With a true
probability the mean time to a false alarm is at least e^17 comparisons for all hypotheses together (Lorden
1971): 2.4 x 10^7, which is more than a thousand years of a host that is compared fifty times per day.

Invariant: pure. Confirmations count as well as contradictions; old comparisons are outweighed by later
ones; no site makes up more than `SITE_SHARE_MAX` of an alarm.
"""

from __future__ import annotations

from math import log, log1p

import msgspec

CONTROLS_AT_FIRST = 8  # looks at a site after which it is known well enough for rare ones
CONTROL_SHARE_MIN = 0.1
ALTERED_SHARES = (0.01, 0.1, 0.5)  # the hypotheses
ALARM = log(len(ALTERED_SHARES)) + 17.0
SITE_SHARE_MAX = 0.4  # of an alarm: at least three sites must contradict a crawler
CHANGE_MIN = 0.001  # the least probability of a change, however well a site is known
CHANGE_MAX = 0.9
CHANGE_EXPECTED = 0.02  # of all sites, before any control look
CAUTION = 2.0  # an unobserved site is expected to change this many times as often as the mean site
_SITE_WEIGHT = 4.0  # control looks at a site that count as much as what is known of all sites
_ALL_WEIGHT = 100.0


class SiteChange(msgspec.Struct, frozen=True):
    """Control looks: how often a page of a site was another one, seen again after the usual time."""

    controls: int = 0
    changed: int = 0

    def after(self, has_changed: bool) -> SiteChange:
        return SiteChange(self.controls + 1, self.changed + has_changed)


def is_control_wanted(site: SiteChange, lot: float) -> bool:
    """Whether a confirmed page is looked at once more: always at first, then rarely. 0 <= lot < 1."""
    return lot < max(CONTROL_SHARE_MIN, 1.0 - site.controls / CONTROLS_AT_FIRST)


def change_probability(site: SiteChange, everywhere: SiteChange) -> float:
    """That a page of the site changes between two looks: what is known of it, drawn to what all sites do."""
    mean = (everywhere.changed + _ALL_WEIGHT * CHANGE_EXPECTED) / (everywhere.controls + _ALL_WEIGHT)
    expected = min(1.0, CAUTION * mean)
    probability = (site.changed + _SITE_WEIGHT * expected) / (site.controls + _SITE_WEIGHT)
    return min(max(CHANGE_MIN, probability), CHANGE_MAX)


class Case(msgspec.Struct, frozen=True):
    """The evidence against a crawler under one hypothesis since the sum was last 0."""

    score: float = 0.0
    by_site: dict[str, float] = {}


class TrustEvidence(msgspec.Struct, frozen=True):
    """The result of the comparisons of one crawler's pages."""

    compared: int = 0
    contradicted: int = 0
    cases: tuple[Case, ...] = (Case(),) * len(ALTERED_SHARES)

    def after(self, site: str, is_contradicted: bool, probability: float) -> TrustEvidence:
        """One comparison more. `probability`: of a natural change on that site."""
        weights = [_weight(share, is_contradicted, probability) for share in ALTERED_SHARES]
        cases = tuple(
            _after(case, site, weight) for case, weight in zip(self.cases, weights, strict=True)
        )
        return TrustEvidence(self.compared + 1, self.contradicted + is_contradicted, cases)

    @property
    def suspicion(self) -> float:
        """From 0 to 1; at 1 the crawler is not believed any more."""
        return min(1.0, max(case.score for case in self.cases) / ALARM)

    @property
    def is_believed(self) -> bool:
        return self.suspicion < 1.0


def _weight(altered_share: float, is_contradicted: bool, probability: float) -> float:
    if is_contradicted:
        return log((altered_share + (1 - altered_share) * probability) / probability)
    return log1p(-altered_share)


def _after(case: Case, site: str, weight: float) -> Case:
    if weight <= 0:
        score = case.score + weight
        return Case(score, case.by_site) if score > 0 else Case()
    before = case.by_site.get(site, 0.0)
    added = min(weight, SITE_SHARE_MAX * ALARM - before)
    return Case(case.score + added, {**case.by_site, site: before + added})
