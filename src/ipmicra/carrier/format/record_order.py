"""The pages of a package -> the order in which they compress best."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

from ipmicra.carrier.format.compression import are_alike, site_part

_Page = TypeVar("_Page")


class OrderKey(NamedTuple):
    """The key by which pages are ordered in a package."""

    language: str
    url: str
    visit: int


def sort_for_compression(pages: Iterable[_Page], place_of: Callable[[_Page], OrderKey]) -> list[_Page]:
    """In an order in which those stand together that say things in the same words.

    By site, names from their right end: a country's and a domain's sites are neighbours. Pages of many sites
    have no more in common than their language, so that comes first.
    """
    placed = [(place_of(page), page) for page in pages]
    sites = {site_part(place.url) for place, _ in placed}
    alike = are_alike(len(placed), len(sites))

    def key(pair: tuple[OrderKey, _Page]) -> tuple[str, list[str], str, int]:
        language, url, visit = pair[0]
        name, _, path = url.partition("//")[2].partition("/")
        return "" if alike else language, name.split(".")[::-1], path, visit

    return [page for _, page in sorted(placed, key=key)]
