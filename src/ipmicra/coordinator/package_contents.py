"""A package and what its crawler was given -> the records that count, and why the others do not.

Law: a crawler speaks of its own sites only. What it says of others is left out and the reason is kept; the
package's bytes stay as they came. A page under one address that says it is another's is nobody's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from sqlalchemy import Connection

from ipmicra.carrier.changes import new_links
from ipmicra.carrier.package import Package
from ipmicra.carrier.record import Measurement, PageChanged, PageMoved, PageSeen, Record
from ipmicra.coordinator import grants
from ipmicra.coordinator.packages import Claimed
from ipmicra.crawler.decisions.urls import Normaliser, Site, Url, site_of

SITES_NAMED = 5  # in a reason
_NO_SITE = Site("")


class Judged(NamedTuple):
    """A package with the records that count; `reason` says what was left out."""

    package: Package
    reason: str = ""


class Contents:
    """Reads records by their sites."""

    def __init__(self) -> None:
        self._normaliser = Normaliser()

    def judged(self, connection: Connection, package: Package, claim: Claimed) -> Judged:
        """Leave out the records of sites that the crawler was never given under the package's lease."""
        spoken_of = [self._site(record) for record in package.records]
        foreign = grants.foreign(connection, claim.crawler, claim.epoch, set(spoken_of))
        if not foreign:
            return Judged(package)
        pairs = zip(package.records, spoken_of, strict=True)
        kept = [record for record, site in pairs if site not in foreign]
        left_out = Counter(site for site in spoken_of if site in foreign)
        return Judged(package._replace(records=kept), _reason(left_out, claim))

    def links_elsewhere(self, package: Package) -> Iterator[Url]:
        """Links to other sites; those within a site are its own crawler's to follow."""
        for record in package.records:
            here = self._site(record)
            for url in map(self._normaliser.url, _targets(record)):
                if url is not None and site_of(url) != here:
                    yield url

    def _site(self, record: Record) -> Site:
        """Whose page it is about; no site's where it contradicts itself."""
        if isinstance(record, Measurement):
            return Site(record.site)
        if isinstance(record, PageSeen) and record.page.url != record.url:
            return _NO_SITE
        url = self._normaliser.url(record.url)
        return _NO_SITE if url is None else site_of(url)


def _targets(record: Record) -> list[str]:
    if isinstance(record, PageSeen) and not record.page.robots.nofollow:
        return [link.url for link in record.page.links if "nofollow" not in link.rel]
    if isinstance(record, PageChanged) and not record.robots.nofollow:
        return [url for url, rel in new_links(record) if "nofollow" not in rel]
    return [record.target] if isinstance(record, PageMoved) else []


def _reason(left_out: Counter[Site], claim: Claimed) -> str:
    named = ", ".join(site or "a page of no site" for site in sorted(left_out)[:SITES_NAMED])
    more = f" and {len(left_out) - SITES_NAMED} more" if len(left_out) > SITES_NAMED else ""
    return (
        f"{left_out.total()} records left out: never given to {claim.crawler} "
        f"under lease {claim.epoch}: {named}{more}"
    )
