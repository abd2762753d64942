"""Links as they were read -> outlinks: absolute, each address once.

Invariant: the first link to a URL represents it; a later one gives its text if the first has none, and
its rel if only the first says nofollow. User names and passwords are removed. Links that neighbouring
pages share are joined once, while they are cached.
"""

from __future__ import annotations

from functools import lru_cache

import can_ada

from ipmicra.crawler.extraction.markup import MarkupContents
from ipmicra.model.page import Link, rel_of_both

LINKS_MAX = 50_000  # of a page: no index page of ours has more
URL_CHARACTERS_MAX = 4_096
JOINED_REMEMBERED_MAX = 2_048  # some half a megabyte
_QUOTES = ('"', "'")


def links_of(reading: MarkupContents, address: str) -> tuple[list[Link], bool]:
    """The links, and whether some were left out because there are too many."""
    if not reading.unjoined:
        links = list(map(Link._make, reading.links[:LINKS_MAX]))
        return links, len(reading.links) > LINKS_MAX
    return _joined_links(reading, address)


def _joined_links(reading: MarkupContents, address: str) -> tuple[list[Link], bool]:
    folder, unjoined = folder_of(address), set(reading.unjoined)
    links: dict[str, Link] = {}
    for position, (url, text, rel) in enumerate(reading.links):
        if position in unjoined:
            url = _joined_once(address if url[0] == "?" else folder, url)
        if not url:
            continue
        before = links.get(url)
        if before is not None:
            text, rel = before.text or text, rel_of_both(before.rel, rel)
        elif len(links) >= LINKS_MAX:
            return list(links.values()), True
        links[url] = Link(url, text, rel)
    return list(links.values()), False


def with_refresh(links: list[Link], refresh: str, address: str) -> list[Link]:
    """The links, with the target of a refresh (`5; url=/next`)."""
    target = refresh_target(refresh)
    url = joined(address, target) if target else ""
    return [*links, Link(url, "", "")] if url and all(link.url != url for link in links) else links


def refresh_target(content: str) -> str:
    """The URL in `5; url=/next`, or "". Each step reads each character once, so long texts cost little."""
    rest = content.lstrip().lstrip("0123456789.").lstrip()
    if rest.startswith((";", ",")):
        rest = rest[1:].lstrip()
    if rest[:3].lower() != "url":
        return ""
    rest = rest[3:].lstrip()
    if not rest.startswith("="):
        return ""
    target = rest[1:].strip()
    target = target[1:] if target.startswith(_QUOTES) else target
    target = target[:-1] if target.endswith(_QUOTES) else target
    has_several_parts = any(quote in target for quote in _QUOTES) or len(target.split(None, 1)) > 1
    return "" if len(target) > URL_CHARACTERS_MAX or has_several_parts else target


def folder_of(address: str) -> str:
    """The prefix of plain hrefs; "" if `address` has none."""
    try:
        path = can_ada.parse(address).href.partition("#")[0].partition("?")[0]
    except ValueError:
        return ""
    return path[: path.rfind("/") + 1]


def joined(address: str, href: str) -> str:
    """`href` as found at `address` -> absolute and without fragment, or "" where it leads nowhere."""
    if len(href) > URL_CHARACTERS_MAX:
        return ""
    href = href.partition("#")[0]
    try:
        url = (can_ada.parse(address) + href if address else can_ada.parse(href)).href
    except ValueError:
        return ""
    if not url.startswith(("http://", "https://")) or len(url) > URL_CHARACTERS_MAX:
        return ""
    return _without_user(url) if "@" in url else url


def _without_user(url: str) -> str:
    scheme, _, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    return f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}"


_joined_once = lru_cache(JOINED_REMEMBERED_MAX)(joined)
