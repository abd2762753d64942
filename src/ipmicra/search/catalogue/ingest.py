"""A package's records -> the catalogue: the same for every engine.

Invariant: all of a package or nothing, in one transaction of the catalogue, and each package once. A
delta is applied to its base; if the base is missing, the full page is requested.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import assert_never

from ipmicra.carrier.package import Package
from ipmicra.carrier.page_delta import BaseMissing, apply_delta
from ipmicra.model.records import (
    FetchMeasurement,
    PageChanged,
    PageGone,
    PageMoved,
    PageSeen,
    Record,
    VisitFailed,
)
from ipmicra.search.catalogue.page_catalogue import PageCatalogue


def integrate(catalogue: PageCatalogue, package: Package, digest: str) -> int:
    """How many of the records changed something; none of a package that is known."""
    header = package.header
    if catalogue.holds(header.crawler, header.sequence, digest):
        return 0
    with _transaction(catalogue):
        changed = sum(_take(catalogue, record, header.crawler) for record in package.records)
        catalogue.remember_package(header.crawler, header.sequence, digest)
    return changed


def purge(catalogue: PageCatalogue, crawler: str) -> int:
    """How many pages the crawler had brought; they are gone."""
    with _transaction(catalogue):
        return catalogue.purge(crawler)


@contextmanager
def _transaction(catalogue: PageCatalogue) -> Iterator[None]:
    catalogue.begin()
    try:
        yield
    except BaseException:
        catalogue.rollback()
        raise
    catalogue.commit()


def _take(catalogue: PageCatalogue, record: Record, crawler: str) -> bool:
    match record:
        case PageChanged():
            return _take_change(catalogue, record, crawler)
        case PageSeen():
            page = None if record.page.robots.noindex else record.page
        case PageGone() | PageMoved():
            page = None
        case VisitFailed() | FetchMeasurement():
            return False
        case never:
            assert_never(never)
    return catalogue.put(record.url, crawler, record.visit, record.fetched_at_ms, page)


def _take_change(catalogue: PageCatalogue, change: PageChanged, crawler: str) -> bool:
    visit = (change.url, crawler, change.visit, change.fetched_at_ms)
    if catalogue.is_outdated(*visit):
        return False
    try:
        seen = apply_delta(change, catalogue.page(change.url))
    except BaseMissing:
        catalogue.want(crawler, change.url)
        return False
    return _take(catalogue, seen, crawler)
