"""A parsed document -> its outlinks: absolute, each address once.

Law: the first link to an address speaks for it; a later one lends its text where the first has none.
Hrefs are deduped as written before they are joined: joining is what costs. Links that neighbouring pages
share are made once and shared, as long as they are remembered: pages of one folder link mostly alike.
"""

from __future__ import annotations

from functools import lru_cache

import can_ada
from turbohtml import Document, Element

from ipmicra.crawler.extraction.page import Link

LINKS_MAX = 50_000  # of a page: no index page of ours has more
URL_CHARACTERS_MAX = 4_096
TEXT_CHARACTERS_MAX = 512
LINKS_REMEMBERED_MAX = 16_384  # for sharing: some five megabytes


def links_of(document: Document, address: str) -> tuple[list[Link], bool]:
    """The links, and whether some were left out because there are too many."""
    try:
        folder = _folder(address)
    except ValueError:
        return [], False
    links: dict[str, Link] = {}
    for href, (text, rel) in _written(document).items():
        link = _link(address if href[0] == "?" else folder, href, text, rel)
        if link.url and (link.url not in links or not links[link.url].text):
            links[link.url] = link
        if len(links) >= LINKS_MAX:
            return list(links.values()), True
    return list(links.values()), False


def _folder(address: str) -> str:
    """What all but a bare query is joined to. Raises ValueError where `address` is none."""
    path = can_ada.parse(address).href.partition("#")[0].partition("?")[0]
    return path[: path.rindex("/") + 1]


@lru_cache(LINKS_REMEMBERED_MAX)
def _link(address: str, href: str, text: str, rel: str) -> Link:
    """The link as found at `address`; one without a url where it leads nowhere."""
    return Link(joined(address, href), text, rel)


def _written(document: Document) -> dict[str, tuple[str, str]]:
    """Hrefs as written, without fragment -> (text, rel)."""
    written: dict[str, tuple[str, str]] = {}
    for anchor in [*document.select("a"), *document.select("area")]:
        href = anchor.attr("href")
        if href and "#" in href:
            href = href.partition("#")[0]
        if href and not (href in written and written[href][0]):
            written[href] = (_text(anchor), (anchor.attr("rel") or "").lower())
    return written


def joined(address: str, href: str) -> str:
    """`href` as found at `address` -> absolute and without fragment, or "" where it leads nowhere."""
    if len(href) > URL_CHARACTERS_MAX:
        return ""
    try:
        url = (can_ada.parse(address) + href.partition("#")[0]).href
    except ValueError:
        return ""
    return url if url.startswith(("http://", "https://")) and len(url) <= URL_CHARACTERS_MAX else ""


def _text(anchor: Element) -> str:
    text = " ".join(anchor.text.split())
    if not text:
        image = anchor.find("img")
        text = " ".join((image.attr("alt") or "").split()) if image is not None else ""
    return text[:TEXT_CHARACTERS_MAX]
