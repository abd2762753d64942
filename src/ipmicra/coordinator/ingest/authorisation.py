"""A package and its crawler's assignments -> the records that count, and the reasons against the others.

Invariant: a crawler reports on its own sites only. Records of other sites are left out and the reason is
stored; the package's bytes stay unchanged. A page that was fetched from one site and claims to be of
another is left out. No moment is later than the coordinator's clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import starmap
from typing import NamedTuple

import msgspec
from sqlalchemy import Connection

from ipmicra.carrier.package import Package
from ipmicra.carrier.record_queries import links_elsewhere, site_about
from ipmicra.coordinator.store import assignments
from ipmicra.coordinator.store.intake import FoundLink
from ipmicra.coordinator.store.packages import ClaimedPackage
from ipmicra.model.records import FetchMeasurement, Record
from ipmicra.model.urls import Normaliser, Site

SITES_NAMED = 5  # in a reason


class FilteredPackage(NamedTuple):
    """A package with the records that count; `reason` says what was left out."""

    package: Package
    reason: str = ""


def within_our_time(package: Package, now_s: float) -> Package:
    """Limit times to now: a record from a clock that is ahead would win against all later ones."""
    now_ms = int(now_s * 1000)
    records = package.records
    if not any(_moment_ms(record) > now_ms for record in records):
        return package
    return package._replace(records=[_no_later(record, now_ms) for record in records])


def _moment_ms(record: Record) -> int:
    return record.measured_at_ms if isinstance(record, FetchMeasurement) else record.fetched_at_ms


def _no_later(record: Record, now_ms: int) -> Record:
    if _moment_ms(record) <= now_ms:
        return record
    field = "measured_at_ms" if isinstance(record, FetchMeasurement) else "fetched_at_ms"
    return msgspec.structs.replace(record, **{field: now_ms})


class RecordFilter:
    """Filters the records of packages by their sites."""

    def __init__(self) -> None:
        self._normaliser = Normaliser()

    def filter(self, connection: Connection, package: Package, claim: ClaimedPackage) -> FilteredPackage:
        """Leave out the records of sites that the crawler was never given under the package's lease."""
        sites = [site_about(record, self._normaliser) for record in package.records]
        foreign = assignments.unassigned_sites(connection, claim.crawler, claim.epoch, set(sites))
        if not foreign:
            return FilteredPackage(package)
        pairs = zip(package.records, sites, strict=True)
        kept = [record for record, site in pairs if site not in foreign]
        left_out = Counter(site for site in sites if site in foreign)
        return FilteredPackage(package._replace(records=kept), _reason(left_out, claim))

    def links_elsewhere(self, package: Package) -> Iterator[FoundLink]:
        """Links to other sites; those within a site are its own crawler's to follow."""
        return starmap(FoundLink, links_elsewhere(package, self._normaliser))


def _reason(left_out: Counter[Site], claim: ClaimedPackage) -> str:
    named = ", ".join(site or "a page of no site" for site in sorted(left_out)[:SITES_NAMED])
    more = f" and {len(left_out) - SITES_NAMED} more" if len(left_out) > SITES_NAMED else ""
    return (
        f"{left_out.total()} records left out: never given to {claim.crawler} "
        f"under lease {claim.epoch}: {named}{more}"
    )
