"""A parsed document -> its outlinks: absolute, each address once.

Law: the first link to an address speaks for it; a later one lends its text where the first has none.
Hrefs are deduped as written before anything else is asked of their elements: a page of a hundred anchors
has some twenty addresses. Links that neighbouring pages share are made once and shared, as long as they are
remembered: pages of one folder link mostly alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

import can_ada
from turbohtml import Document, Element

from ipmicra.crawler.extraction.page import Link

LINKS_MAX = 50_000  # of a page: no index page of ours has more
URL_CHARACTERS_MAX = 4_096
TEXT_CHARACTERS_MAX = 512
PLAIN_CHARACTERS_MAX = 512
LINKS_REMEMBERED_MAX = 2_048  # for sharing: some half a megabyte

# Names and folders in letters, digits and what no rule of URLs changes: joining is writing them side by side,
# behind the folder that the steps before them lead to.
_PLAIN = re.compile(r"((?:\.\.?/)*)[A-Za-z0-9_~-][A-Za-z0-9_.~-]*(?:/[A-Za-z0-9_~-][A-Za-z0-9_.~-]*)*/?")


def links_of(document: Document, address: str) -> tuple[list[Link], bool]:
    """The links, and whether some were left out because there are too many."""
    try:
        folder = _folder(address)
    except ValueError:
        return [], False
    links: dict[str, Link] = {}
    for href, (text, rel) in _written([*document.select("a"), *document.select("area")]).items():
        link = _link(address if href[0] == "?" else folder, href, text, rel)
        url = link.url
        if url and (url not in links or not links[url].text):
            links[url] = link
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
    plain = _PLAIN.fullmatch(href) if len(href) <= PLAIN_CHARACTERS_MAX else None
    if plain is not None and _is_plain_folder(address):
        steps = plain[1]
        folder = _above(address, steps.count("..")) if steps else address
        return Link(folder + href[len(steps) :], text, rel)
    return Link(joined(address, href), text, rel)


@lru_cache(64)
def _is_plain_folder(address: str) -> bool:
    """Whether plain names need only be written behind it."""
    return (
        address.startswith(("http://", "https://")) and address.endswith("/") and len(address) <= 1_024
    )


@lru_cache(256)
def _above(folder: str, levels: int) -> str:
    """So many levels up; there is nothing above a site's root."""
    root = folder.index("/", 8) + 1
    for _ in range(levels):
        folder = folder[: max(root, folder.rindex("/", 0, -1) + 1)]
    return folder


def _written(anchors: list[Element]) -> dict[str, tuple[str, str]]:
    """Hrefs as written, without fragment -> (text, rel)."""
    first: dict[str, Element] = {}
    for anchor in anchors:
        href = anchor.attr("href")
        if href and href[0] != "#":
            plain = href.partition("#")[0]
            if plain not in first:
                first[plain] = anchor
    written = {
        plain: (_text(anchor), (anchor.attr("rel") or "").lower()) for plain, anchor in first.items()
    }
    if any(not text for text, _ in written.values()):
        _lend_texts(written, anchors)
    return written


def _lend_texts(written: dict[str, tuple[str, str]], anchors: Iterable[Element]) -> None:
    """Links without a text get that, and the rel, of the first of their fellows that has one."""
    for anchor in anchors:
        plain = (anchor.attr("href") or "").partition("#")[0]
        if plain and not written[plain][0] and (text := _text(anchor)):
            written[plain] = (text, (anchor.attr("rel") or "").lower())


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
