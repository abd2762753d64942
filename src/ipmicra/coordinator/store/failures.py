"""Failed visits in packages -> counts by kind, site and crawler, with the newest example of each.

    count_failures   when a package is integrated, in the same transaction: each failure once
    failures         how often in the last days, by kind, the newest examples first

Invariant: bounded, for anything that crawlers send. One row per day, crawler, kind and site holds a count
and one example; a crawler has at most `SITES_A_DAY_MAX` of them per day, and further failures are counted
without their site. Rows are deleted after `DAYS`, and those of a purged crawler at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from http import HTTPStatus

import msgspec
from sqlalchemy import ColumnElement, Connection, Row, delete, func, select
from sqlalchemy.dialects import postgresql, sqlite

from ipmicra.carrier.package import Package
from ipmicra.carrier.record_queries import site_about
from ipmicra.coordinator.store.sql.batches import in_batches
from ipmicra.coordinator.store.sql.schema import failure_table
from ipmicra.model.failures import Kind, description_of, family_of, kind_of, status_in
from ipmicra.model.records import VisitFailed
from ipmicra.model.urls import Normaliser
from ipmicra.protocol.coordinator_api import FailedVisit, FailedVisits

DAYS = 7
DAY_S = 86_400
SITES_A_DAY_MAX = 200  # rows of one crawler that name a site
EXAMPLES_MAX = 5  # of one kind
URL_CHARACTERS_MAX = 500
DETAIL_CHARACTERS_MAX = 200
SITE_CHARACTERS_MAX = 300


class _FailureCount(msgspec.Struct):
    kind: str
    site: str
    url: str
    detail: str
    at_s: float
    count: int = 0


def count_failures(connection: Connection, package: Package, now_s: float) -> None:
    """Add a package's failures. The caller ensures that a package is counted once."""
    day, crawler = int(now_s) // DAY_S, package.header.crawler
    connection.execute(delete(failure_table).where(failure_table.c.day <= day - DAYS))
    counts = _failures_in(package, now_s)
    if not counts:
        return
    known = connection.execute(
        select(failure_table.c.kind, failure_table.c.site).where(
            failure_table.c.day == day, failure_table.c.crawler == crawler, failure_table.c.site != ""
        )
    )
    _add(connection, day, crawler, _bounded(counts, {(kind, site) for kind, site in known}))


def delete_failures(connection: Connection, crawler: str) -> None:
    """Delete all failures that the crawler reported."""
    connection.execute(delete(failure_table).where(failure_table.c.crawler == crawler))


def _failures_in(package: Package, now_s: float) -> list[_FailureCount]:
    """Counts by kind and site, with the latest example; impossible times are limited to possible ones."""
    normaliser = Normaliser()
    sums: dict[tuple[str, str], _FailureCount] = {}
    for record in package.records:
        if isinstance(record, VisitFailed):
            site = site_about(record, normaliser)
            one = _FailureCount(
                kind=str(kind_of(record.kind)),
                site=site if len(site) <= SITE_CHARACTERS_MAX else "",
                url=_bounded_text(record.url, URL_CHARACTERS_MAX),
                detail=_bounded_text(record.detail, DETAIL_CHARACTERS_MAX),
                at_s=min(max(record.fetched_at_ms / 1000, now_s - DAYS * DAY_S), now_s),
            )
            _merge(sums, one, 1)
    return list(sums.values())


def _bounded(counts: Iterable[_FailureCount], known: set[tuple[str, str]]) -> list[_FailureCount]:
    """The counts, with those beyond the day's limit counted without their site."""
    sums: dict[tuple[str, str], _FailureCount] = {}
    for one in counts:
        key = (one.kind, one.site)
        if one.site and key not in known:
            if len(known) < SITES_A_DAY_MAX:
                known.add(key)
            else:
                one.site = ""
        _merge(sums, one, one.count)
    return [sums[key] for key in sorted(sums)]  # in one order, so that two workers do not deadlock


def _merge(sums: dict[tuple[str, str], _FailureCount], one: _FailureCount, times: int) -> None:
    before = sums.get((one.kind, one.site))
    latest = one if before is None or before.at_s <= one.at_s else before
    latest.count = times + (0 if before is None else before.count)
    sums[one.kind, one.site] = latest


def _add(connection: Connection, day: int, crawler: str, counted: Sequence[_FailureCount]) -> None:
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    for batch in in_batches(counted):
        values = [{"day": day, "crawler": crawler, **msgspec.structs.asdict(one)} for one in batch]
        statement = insert(failure_table).values(values)
        changed: dict[str, ColumnElement[object]] = {
            "count": failure_table.c["count"] + statement.excluded["count"],
            **{name: statement.excluded[name] for name in ("url", "detail", "at_s")},
        }
        keys = [column.name for column in failure_table.primary_key.columns]
        connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=changed))


def _bounded_text(text: str, most: int) -> str:
    """Shortened, and without the NUL character, which PostgreSQL does not accept."""
    return text.replace("\0", "")[:most]


def failures(connection: Connection, now_s: float) -> list[FailedVisits]:
    """The failures of the last days, the most frequent kind first."""
    lately = failure_table.c.day > int(now_s) // DAY_S - DAYS
    sites = func.count(func.distinct(func.nullif(failure_table.c.site, "")))
    query = select(
        failure_table.c.kind, func.sum(failure_table.c.count), sites, func.max(failure_table.c.at_s)
    )
    counts = connection.execute(query.where(lately).group_by(failure_table.c.kind)).all()
    summaries = [
        _summary(row, _examples(connection, lately & (failure_table.c.kind == row.kind)))
        for row in counts
    ]
    return sorted(summaries, key=lambda one: (-one.count, one.kind))


def _summary(row: Row[str, int, int, float], examples: list[FailedVisit]) -> FailedVisits:
    word, count, sites, latest_s = row
    kind = kind_of(word)  # the row may come from a coordinator of another version
    family = family_of(kind)
    return FailedVisits(
        kind=word,
        family=family.name,
        title=family.title,
        whose=family.whose,
        what=_in_words(kind),
        advice=family.advice,
        count=int(count),
        sites=sites,
        latest_s=latest_s,
        examples=examples,
    )


def _in_words(kind: Kind) -> str:
    status = status_in(kind)
    try:
        return description_of(kind) if status is None else f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"status {status}"


def _examples(connection: Connection, which: ColumnElement[bool]) -> list[FailedVisit]:
    """The newest first."""
    columns = (
        failure_table.c.url,
        failure_table.c.site,
        failure_table.c.crawler,
        failure_table.c.at_s,
        failure_table.c.detail,
    )
    newest = (
        select(*columns)
        .where(which)
        .order_by(failure_table.c.at_s.desc(), failure_table.c.url)
        .limit(EXAMPLES_MAX)
    )
    return [FailedVisit(**row) for row in connection.execute(newest).mappings()]
