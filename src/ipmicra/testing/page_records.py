"""Small webs for search tests: pages in a few words, packages of them."""

from __future__ import annotations

from collections.abc import Sequence

from ipmicra.carrier.package import Package, digest_of, pack, unpack
from ipmicra.carrier.page_delta import base_digest, delta_of
from ipmicra.crawler.extraction import extract
from ipmicra.model.records import PageChanged, PageGone, PageSeen, Record

DAY_MS = 86_400_000


def seen(
    url: str,
    title: str = "",
    body: str = "",
    *,
    head: str = "",
    language: str = "en",
    visit: int = 1,
) -> PageSeen:
    markup = f"<html lang={language}><head><title>{title}</title>{head}</head><body>{body}</body></html>"
    page = extract(markup.encode(), "text/html; charset=utf-8", url)
    return PageSeen(url=url, visit=visit, fetched_at_ms=visit * DAY_MS, page=page)


def gone(url: str, visit: int) -> PageGone:
    return PageGone(url=url, visit=visit, fetched_at_ms=visit * DAY_MS, status=410)


def changed(before: PageSeen, after: PageSeen) -> PageChanged:
    """What a crawler that watches the page would send."""
    change = delta_of(after, before.page.content_hash, base_digest(before.page))
    assert change is not None
    return change


def package(
    records: Sequence[Record], crawler: str = "athens", sequence: int = 1
) -> tuple[Package, str]:
    """As it would arrive: packed and unpacked."""
    data = pack(records, crawler, sequence)
    return unpack(data), digest_of(data)
