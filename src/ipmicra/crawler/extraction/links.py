"""A parsed document -> its outlinks: absolute, each address once.

Law: the first link to an address speaks for it; a later one lends its text where the first has none.
Hrefs are deduped as written before they are joined: joining is what costs.
"""

from __future__ import annotations

import can_ada
from turbohtml import Document, Element

from ipmicra.crawler.extraction.page import Link

LINKS_MAX = 50_000  # of a page: no index page of ours has more
URL_CHARACTERS_MAX = 4_096
TEXT_CHARACTERS_MAX = 512
_LEADING_ELSEWHERE = 'a[href]:not([href^="#"]),area[href]'


def links_of(document: Document, address: str) -> tuple[list[Link], bool]:
    """The links, and whether some were left out because there are too many."""
    try:
        here = can_ada.parse(address)
    except ValueError:
        return [], False
    links: dict[str, Link] = {}
    for href, (text, rel) in _written(document).items():
        url = _joined(here, href)
        if url and (url not in links or not links[url].text):
            links[url] = Link(url, text, rel)
        if len(links) >= LINKS_MAX:
            return list(links.values()), True
    return list(links.values()), False


def _written(document: Document) -> dict[str, tuple[str, str]]:
    """Hrefs as written, without fragment -> (text, rel)."""
    written: dict[str, tuple[str, str]] = {}
    for anchor in document.select(_LEADING_ELSEWHERE):
        href = (anchor.attr("href") or "").partition("#")[0]
        if href and not (href in written and written[href][0]):
            written[href] = (_text(anchor), (anchor.attr("rel") or "").lower())
    return written


def joined(address: str, href: str) -> str:
    """`href` as found at `address` -> absolute and without fragment, or "" where it leads nowhere."""
    try:
        return _joined(can_ada.parse(address), href.partition("#")[0])
    except ValueError:
        return ""


def _joined(here: can_ada.URL, href: str) -> str:
    if len(href) > URL_CHARACTERS_MAX:
        return ""
    try:
        url = (here + href).href
    except ValueError:
        return ""
    return url if url.startswith(("http://", "https://")) and len(url) <= URL_CHARACTERS_MAX else ""


def _text(anchor: Element) -> str:
    text = " ".join(anchor.text.split())
    if not text:
        image = anchor.find("img")
        text = " ".join((image.attr("alt") or "").split()) if image is not None else ""
    return text[:TEXT_CHARACTERS_MAX]
