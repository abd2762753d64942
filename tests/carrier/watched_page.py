"""A page that is watched: forty lines and ten links, to be changed at will."""

from __future__ import annotations

import msgspec

from ipmicra.model.fingerprints import content_hash
from ipmicra.model.page import Link, Page

URL = "http://a.example/page"
LINES = [f"line number {number} of a page that is watched" for number in range(40)]
LINKS = [Link(f"http://a.example/{number}", f"to {number}", "") for number in range(10)]


def page(lines: list[str], links: list[Link] = LINKS, title: str = "News", **others: object) -> Page:
    text = "\n".join(lines)
    digest = content_hash([title, "", text, *[link.url for link in links]])
    made = Page(url=URL, title=title, text=text, links=links, content_hash=digest, headings=lines[:1])
    return msgspec.structs.replace(made, **others)
