"""Seeds and an operator's request -> which pages belong to a crawl, and how much of each site.

Invariant: pure, and decided from the URL alone, so that a URL is judged the same at discovery, on every
hop of a redirect and after a restart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from ipmicra.model.urls import Site, Url, name_of, port_of, site_of

ScopeKind: TypeAlias = Literal["site", "domain", "prefix", "pattern", "any"]


class CrawlBounds(Protocol):
    """The pages that belong to a crawl: fixed, as a `Scope` is, or changing with the assigned sites."""

    def holds(self, url: Url) -> bool: ...


@dataclass(frozen=True)
class Scope:
    """The pages that a crawl may fetch. Build it with `scope_around`."""

    kind: ScopeKind
    names: frozenset[str] = frozenset()  # domain
    prefixes: tuple[str, ...] = ()
    pattern: re.Pattern[str] | None = None
    places: frozenset[tuple[str, int]] = frozenset()  # site

    def holds(self, url: Url) -> bool:
        if self.kind == "any":
            return True
        if self.kind == "site":
            return _place(site_of(url)) in self.places
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

    *site*: the seeds' own sites, with http or https and with or without `www.`, since sites move between
    these without asking. *domain*: their names (less a leading `www.`) and all names under them,
    with any scheme and port. *prefix*: all that begins as a seed does up to its last slash. *pattern*: a
    regular expression found in the URL. Raises re.error when the pattern is not one.
    """
    if kind == "pattern":
        return Scope(kind, pattern=re.compile(pattern or ""))
    if kind == "prefix":
        return Scope(kind, prefixes=tuple(_directory(seed) for seed in seeds))
    sites = [site_of(seed) for seed in seeds]
    if kind == "domain":
        return Scope(kind, frozenset(name_of(site).removeprefix("www.") for site in sites))
    return Scope(kind, places=frozenset(map(_place, sites)))


def _place(site: Site) -> tuple[str, int]:
    """A name without `www.`, and a port, where the two usual ones count as one."""
    port = port_of(site)
    return name_of(site).removeprefix("www."), 0 if port in {80, 443} else port


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
