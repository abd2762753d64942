"""Links that a host's packages bring -> those that are accepted, each new site at its place in the queue.

Every host and every linking site has limits per day, and is a flow of a fair queue: its n-th new site is
queued as if it had come n spacings later. So a flood waits behind itself, and an operator's site, or the
first new site of another host, is next. While nobody else waits, a flood is delegated like anything else.

Invariant: a transaction stores at most `LINKS_AT_ONCE_MAX` links. What is beyond a limit is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection, func, select

from ipmicra.coordinator.store.sites import (
    SITE_CHARACTERS_MAX,
    URL_CHARACTERS_MAX,
    insert_links,
    known_names,
    queue_sites,
)
from ipmicra.coordinator.store.sql.batches import in_batches
from ipmicra.coordinator.store.sql.schema import intake_table, link_table
from ipmicra.coordinator.store.sql.upserts import put
from ipmicra.model.urls import Site, Url, site_of

LINKS_AT_ONCE_MAX = 2_000  # in one transaction: a few tenths of a second on SQLite
HOST_SPACING_S = 0.1
SITE_SPACING_S = 1.0
DAY_S = 86_400


class FoundLink(NamedTuple):
    url: Url
    linked_from: Site


class IntakeLimits(NamedTuple):
    """New links and new sites: of a host per day, of a linking site per day, or of one package."""

    links: int
    sites: int


@dataclass
class IntakeCount:
    """What one source brought today; `queued_s` is the place in the queue of its next new site."""

    links: int = 0
    sites: int = 0
    dropped: int = 0
    queued_s: float = 0.0


@dataclass
class IntakeSource:
    """A host, a linking site or a package, with its limits."""

    count: IntakeCount
    limits: IntakeLimits
    spacing_s: float = 0.0

    def is_within_limits(self, is_new_site: bool) -> bool:
        within_sites = not is_new_site or self.count.sites < self.limits.sites
        return self.count.links < self.limits.links and within_sites


def accept_links(
    connection: Connection,
    host: str,
    found: Sequence[FoundLink],
    package: IntakeSource,
    host_limits: IntakeLimits,
    site_limits: IntakeLimits,
    now_s: float,
) -> int:
    """Store the new links that are within the limits. Returns the number of links that were dropped."""
    assert len(found) <= LINKS_AT_ONCE_MAX
    found = _new_ones(connection, found)
    names = list(dict.fromkeys(site_of(link.url) for link in found))
    known = known_names(connection, names)
    counts = _counts(connection, [_host(host), *(_site(link.linked_from) for link in found)], now_s)
    places: dict[str, float] = {}
    accepted: dict[Url, str] = {}
    dropped = 0
    for url, linked_from in found:
        site = site_of(url)
        sources = (
            package,
            IntakeSource(counts[_host(host)], host_limits, HOST_SPACING_S),
            IntakeSource(counts[_site(linked_from)], site_limits, SITE_SPACING_S),
        )
        is_new = site not in known and site not in places
        if not all(source.is_within_limits(is_new) for source in sources):
            dropped += 1
            for source in sources:
                source.count.dropped += 1
            continue
        accepted[url] = site
        if site not in places:
            places[site] = _take_place(sources, is_new, now_s)
        for source in sources:
            source.count.links += 1
    queue_sites(connection, places, now_s)
    insert_links(connection, accepted, now_s)
    _save(connection, counts, now_s)
    return dropped


def _take_place(sources: Sequence[IntakeSource], is_new: bool, now_s: float) -> float:
    """The place of a site in the queue: behind what its sources brought before."""
    place = max(now_s, *(source.count.queued_s for source in sources))
    if is_new:
        for source in sources:
            source.count.sites += 1
            source.count.queued_s = max(now_s, source.count.queued_s) + source.spacing_s
    return place


def dropped_links(connection: Connection, since_s: float) -> list[tuple[str, int]]:
    """Hosts and sites whose links were dropped since that day, the most first, with the number of links."""
    total = func.sum(intake_table.c.dropped)
    query = (
        select(intake_table.c.source, total)
        .where(intake_table.c.day >= int(since_s // DAY_S))
        .group_by(intake_table.c.source)
        .having(total > 0)
        .order_by(total.desc(), intake_table.c.source)
    )
    return [(source, int(count)) for source, count in connection.execute(query.limit(100))]


def _new_ones(connection: Connection, found: Sequence[FoundLink]) -> list[FoundLink]:
    """Links that fit into a row and are not stored yet, each once."""
    by_url = {link.url: link for link in found if len(link.url) <= URL_CHARACTERS_MAX}
    by_url = {url: link for url, link in by_url.items() if len(site_of(url)) <= SITE_CHARACTERS_MAX}
    for urls in in_batches(list(by_url)):
        stored = select(link_table.c.url).where(link_table.c.url.in_(urls))
        for url in connection.execute(stored).scalars():
            del by_url[Url(url)]
    return list(by_url.values())


def _host(name: str) -> str:
    return f"host {name}"


def _site(name: str) -> str:
    return f"site {name}"


def _counts(connection: Connection, sources: Sequence[str], now_s: float) -> dict[str, IntakeCount]:
    counts = {source: IntakeCount() for source in sources}
    rows = intake_table.c
    for batch in in_batches(list(counts)):
        query = select(rows.source, rows.links, rows.sites, rows.dropped, rows.queued_s)
        today = (rows.day == int(now_s // DAY_S), rows.source.in_(batch))
        for source, *values in connection.execute(query.where(*today)):
            counts[source] = IntakeCount(*values)
    return counts


def _save(connection: Connection, counts: dict[str, IntakeCount], now_s: float) -> None:
    day = int(now_s // DAY_S)
    rows = [{"day": day, "source": source, **vars(count)} for source, count in sorted(counts.items())]
    put(connection, intake_table, *rows)
