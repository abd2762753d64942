"""A package's records -> the ledger: what every index does with them, whatever engine finds its pages.

Law: all of a package or nothing, in one transaction of the ledger, and each package once. A change is made
whole; where its base is not here, the whole page is asked for.
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


def integrate(ledger: PageCatalogue, package: Package, digest: str) -> int:
    """How many of the records changed something; none of a package that is known."""
    header = package.header
    if ledger.holds(header.crawler, header.sequence, digest):
        return 0
    with _transaction(ledger):
        changed = sum(_take(ledger, record, header.crawler) for record in package.records)
        ledger.remember_package(header.crawler, header.sequence, digest)
    return changed


def purge(ledger: PageCatalogue, crawler: str) -> int:
    """How many pages the crawler had brought; they are gone."""
    with _transaction(ledger):
        return ledger.purge(crawler)


@contextmanager
def _transaction(ledger: PageCatalogue) -> Iterator[None]:
    ledger.begin()
    try:
        yield
    except BaseException:
        ledger.rollback()
        raise
    ledger.commit()


def _take(ledger: PageCatalogue, record: Record, crawler: str) -> bool:
    match record:
        case PageChanged():
            return _take_change(ledger, record, crawler)
        case PageSeen():
            page = None if record.page.robots.noindex else record.page
        case PageGone() | PageMoved():
            page = None
        case VisitFailed() | FetchMeasurement():
            return False
        case never:
            assert_never(never)
    return ledger.put(record.url, crawler, record.visit, record.fetched_at_ms, page)


def _take_change(ledger: PageCatalogue, change: PageChanged, crawler: str) -> bool:
    visit = (change.url, crawler, change.visit, change.fetched_at_ms)
    if ledger.is_outdated(*visit):
        return False
    try:
        seen = apply_delta(change, ledger.page(change.url))
    except BaseMissing:
        ledger.want(crawler, change.url)
        return False
    return _take(ledger, seen, crawler)
