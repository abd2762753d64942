"""Seeds and an operator's wish -> which pages belong to a crawl, and how much of each site.

Law: pure, and decided from the URL alone, so that a URL is judged the same at discovery, on every hop of
a redirect and after a restart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ipmicra.crawler.decisions.urls import Site, Url, name_of, site_of

ScopeKind: TypeAlias = Literal["site", "domain", "prefix", "pattern", "any"]


@dataclass(frozen=True)
class Scope:
    """The pages that a crawl may fetch. Build it with `scope_around`."""

    kind: ScopeKind
    names: frozenset[str] = frozenset()  # site, domain
    prefixes: tuple[str, ...] = ()
    pattern: re.Pattern[str] | None = None
    sites: frozenset[Site] = field(default=frozenset())

    def holds(self, url: Url) -> bool:
        if self.kind == "any":
            return True
        if self.kind == "site":
            return site_of(url) in self.sites
        if self.kind == "domain":
            return self._in_domain(name_of(site_of(url)))
        if self.kind == "prefix":
            return url.startswith(self.prefixes)
        assert self.pattern is not None
        return self.pattern.search(url) is not None

    def _in_domain(self, name: str) -> bool:
        while name:
            if name in self.names:
                return True
            name = name.partition(".")[2]
        return False


def scope_around(seeds: Sequence[Url], kind: ScopeKind, pattern: str | None = None) -> Scope:
    """The scope of that kind around the seeds.

    *site*: the seeds' own sites. *domain*: their names (less a leading `www.`) and all names under them,
    with any scheme and port. *prefix*: all that begins as a seed does up to its last slash. *pattern*: a
    regular expression found in the URL. Raises re.error when the pattern is not one.
    """
    if kind == "pattern":
        return Scope(kind, pattern=re.compile(pattern or ""))
    if kind == "prefix":
        return Scope(kind, prefixes=tuple(_directory(seed) for seed in seeds))
    sites = frozenset(site_of(seed) for seed in seeds)
    return Scope(kind, frozenset(name_of(site).removeprefix("www.") for site in sites), sites=sites)


def _directory(url: Url) -> str:
    path = url.partition("?")[0]
    return path[: path.rindex("/") + 1]


@dataclass(frozen=True, slots=True)
class SiteBudget:
    """How much of one site is fetched at most, redirects and errors included."""

    pages: int
    bytes: int
    depth: int  # links from a seed

    def allows(self, pages_fetched: int, bytes_fetched: int) -> bool:
        return pages_fetched < self.pages and bytes_fetched < self.bytes
