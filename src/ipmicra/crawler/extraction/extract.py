"""Bytes, their content type and their address -> a Page."""

from __future__ import annotations

import can_ada
from selectolax.lexbor import LexborHTMLParser

from ipmicra.crawler.extraction.page import Link, Page


def extract(
    body: bytes,
    content_type: str,
    url: str,
    *,
    robots_header: str = "",
    last_modified: str = "",
) -> Page:
    """What a search engine needs of one response.

    `content_type`, `robots_header` (X-Robots-Tag, several joined by commas) and `last_modified` are the
    response's headers as received; `url` is where redirects ended.
    """
    tree = LexborHTMLParser(body)
    title = tree.css_first("title")
    links: dict[str, Link] = {}
    here = can_ada.parse(url)
    for anchor in tree.css("a[href]"):
        href = anchor.attributes.get("href") or ""
        try:
            joined = here + href
        except ValueError:
            continue
        joined.hash = ""
        links.setdefault(
            joined.href,
            Link(joined.href, " ".join(anchor.text().split()), anchor.attributes.get("rel") or ""),
        )
    tree.strip_tags(["script", "style", "noscript", "template", "head"], recursive=True)
    text = tree.body.text(separator="\n", skip_empty=True) if tree.body else ""
    return Page(
        url=url,
        title=" ".join(title.text().split()) if title else "",
        text=text,
        links=list(links.values()),
        body_bytes=len(body),
    )
