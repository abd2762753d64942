"""Settings and an operator's request -> the fixed rules of one crawl, as the decisions want them."""

from __future__ import annotations

from dataclasses import dataclass

from ipmicra.crawler.decisions.politeness import PolitenessPolicy, RateOverride, policy_for
from ipmicra.crawler.decisions.revisit import RevisitRules
from ipmicra.crawler.decisions.scope import CrawlBounds, SiteBudget
from ipmicra.crawler.decisions.traps import DEFAULT_RULES, TrapRules, trap_in
from ipmicra.crawler.settings import CrawlerSettings
from ipmicra.model.urls import Normaliser, Site, Url


@dataclass(frozen=True)
class CrawlPlan:
    """The rules of one crawl: what it may fetch, and how."""

    scope: CrawlBounds
    settings: CrawlerSettings
    budget: SiteBudget
    usual: PolitenessPolicy
    grants: tuple[RateOverride, ...]
    revisit: RevisitRules
    normaliser: Normaliser
    traps: TrapRules = DEFAULT_RULES
    pages_max: int | None = None
    redirects_max: int = 5
    watch: bool = False

    def policy_for(self, site: Site) -> PolitenessPolicy:
        return policy_for(site, self.usual, self.grants)

    def rejection_reason(self, url: Url, depth: int, this_year: int) -> str | None:
        """Why a URL that was found is not followed; None when it is."""
        if depth > self.budget.depth:
            return "too deep"
        if not self.scope.holds(url):
            return "out of scope"
        return trap_in(url, this_year, self.traps)


def plan_from(
    settings: CrawlerSettings,
    scope: CrawlBounds,
    *,
    pages_max: int | None = None,
    depth_max: int | None = None,
    redirects_max: int = 5,
    watch: bool = False,
) -> CrawlPlan:
    """The plan that the settings and the command's own limits make together."""
    depth = settings.depth_max if depth_max is None else min(depth_max, settings.depth_max)
    return CrawlPlan(
        scope=scope,
        settings=settings,
        budget=SiteBudget(settings.site_pages_max, settings.site_bytes_max, depth),
        usual=PolitenessPolicy(settings.delay_seconds_min, settings.response_time_factor),
        grants=settings.grants,
        revisit=RevisitRules(
            settings.revisit_seconds_min, settings.revisit_seconds_max, settings.revisit_seconds_first
        ),
        normaliser=Normaliser(settings.dropped_parameters),
        pages_max=pages_max,
        redirects_max=redirects_max,
        watch=watch,
    )
