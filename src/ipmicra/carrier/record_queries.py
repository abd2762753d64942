"""A package's records -> the sites that they are about, and links to other sites, which others crawl."""

from __future__ import annotations

from collections.abc import Iterator

from ipmicra.carrier.package import Package
from ipmicra.carrier.page_delta import new_links
from ipmicra.model.records import FetchMeasurement, PageChanged, PageMoved, PageSeen, Record
from ipmicra.model.urls import Normaliser, Site, Url, site_of

NO_SITE = Site("")


def site_about(record: Record, normaliser: Normaliser) -> Site:
    """Whose page it is about; no site's where it contradicts itself."""
    if isinstance(record, FetchMeasurement):
        return Site(record.site)
    if isinstance(record, PageSeen) and record.page.url != record.url:
        return NO_SITE
    url = normaliser.url(record.url)
    return NO_SITE if url is None else site_of(url)


def links_elsewhere(package: Package, normaliser: Normaliser) -> Iterator[tuple[Url, Site]]:
    """Links to other sites, and the site that links; those within a site are its own crawler's to follow."""
    for record in package.records:
        here = site_about(record, normaliser)
        for url in map(normaliser.url, _targets(record)):
            if url is not None and site_of(url) != here:
                yield url, here


def _targets(record: Record) -> list[str]:
    if isinstance(record, PageSeen) and not record.page.robots.nofollow:
        return [link.url for link in record.page.links if "nofollow" not in link.rel]
    if isinstance(record, PageChanged) and not record.robots.nofollow:
        return [url for url, rel in new_links(record) if "nofollow" not in rel]
    return [record.target] if isinstance(record, PageMoved) else []
