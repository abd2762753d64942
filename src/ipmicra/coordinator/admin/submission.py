"""URLs as people write them -> links that wait for a crawler; for the command line and the pages."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection

from ipmicra.coordinator.store import sites
from ipmicra.errors import OperatorFault
from ipmicra.model.urls import Normaliser, Url, name_of, site_of


def submit(connection: Connection, urls: Iterable[str], now_s: float) -> tuple[int, int]:
    """Store the URLs. Returns how many were given and how many are new. One invalid URL refuses all."""
    normaliser = Normaliser()
    wanted = [_normal(normaliser, url) for url in urls]
    return len(wanted), sites.add_links(connection, wanted, now_s)


def _normal(normaliser: Normaliser, text: str) -> Url:
    url = normaliser.url(text)
    if url is None:
        raise OperatorFault(f"{text!r} is not a web address; write one such as https://example.org/")
    if "*" in name_of(site_of(url)):
        raise OperatorFault(
            f"{text!r} names no site: a wildcard cannot be looked up; write the addresses of its sites"
        )
    return url
