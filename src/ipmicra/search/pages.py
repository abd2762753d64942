"""Answers -> the search page as HTML, without scripts.

Law: pure. Everything that came from a page, a site or a searcher is escaped; `Hit.snippet` alone is HTML
already, escaped where it was made. Nothing is loaded from another origin.
"""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape
from urllib.parse import urlencode

import htpy as h

from ipmicra.look.layout import Navigation, document, safe_address, trusted
from ipmicra.search.contract import Answer, Hit, Request

HERE = "/search"


def empty_page(pages: int, navigation: Navigation) -> str:
    """What a searcher sees first."""
    note = f"{pages:,} pages can be found." if pages else "Nothing has been crawled yet."
    body = h.div(".front")[h.h1["Search the crawl"], _form("", autofocus=True), h.p(".note")[note]]
    return document("Search", body, here=HERE, navigation=navigation, with_search=False)


def answer_page(request: Request, answer: Answer, navigation: Navigation) -> str:
    body = h.div(".ask")[
        h.h1[f"Results for “{request.text[:60]}”"],
        _form(request.text),
        _summary(request, answer),
        h.ol(".hits")[(_hit(hit) for hit in answer.hits)],
        _turning(request, answer),
    ]
    title = f"{request.text[:60]} – search"
    return document(title, body, here=HERE, navigation=navigation, with_search=False)


def open_search_description(address: str) -> str:
    """So that a browser can add this engine: https://github.com/dewitt/opensearch."""
    template = escape(f"{address}?q={{searchTerms}}")
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">'
        "<ShortName>ipmicra</ShortName><Description>Pages that ipmicra crawled</Description>"
        f'<InputEncoding>UTF-8</InputEncoding><Url type="text/html" template="{template}"/>'
        "</OpenSearchDescription>\n"
    )


def _form(text: str, autofocus: bool = False) -> h.Element:
    return h.form(".row", action=HERE, role="search")[
        h.input(
            type="search",
            name="q",
            maxlength="1000",
            aria_label="Search",
            value=text,
            autofocus=autofocus,
        ),
        h.button["Search"],
    ]


def _summary(request: Request, answer: Answer) -> h.Node:
    words = [f"{answer.total:,} pages match, {answer.took_ms:.1f} ms", *answer.remarks]
    lines: list[h.Node] = [h.p(".note")["; ".join(words)]]
    if answer.did_you_mean:
        better = _link(Request(text=answer.did_you_mean, per_site=request.per_site))
        lines.append(h.p["Did you mean ", h.a(href=better)[answer.did_you_mean], "?"])
    return lines


def _hit(hit: Hit) -> h.Element:
    seen = datetime.fromtimestamp(hit.fetched_at_ms / 1000, tz=UTC)
    notes = [f"seen {seen:%Y-%m-%d %H:%M} UTC by {hit.crawler}"]
    if hit.alike:
        notes.append(f"{hit.alike} alike")
    if hit.more_from_site:
        notes.append(f"{hit.more_from_site} more from {hit.site}")
    return h.li[
        h.h2[h.a(href=safe_address(hit.url), rel="noreferrer")[hit.title]],
        h.p(".address")[hit.url],
        h.p(lang=hit.language or None)[trusted(hit.snippet)],
        h.p(".note")[", ".join(notes)],
    ]


def _turning(request: Request, answer: Answer) -> h.Node:
    links = []
    if request.offset > 0:
        before = max(0, request.offset - request.limit)
        links.append(h.a(rel="prev", href=_link(request, before))["Previous"])
    if len(answer.hits) == request.limit:
        after = request.offset + request.limit
        links.append(h.a(rel="next", href=_link(request, after))["Next"])
    if request.per_site:
        every = Request(text=request.text, limit=request.limit, per_site=0)
        links.append(h.a(href=_link(every))["All results of each site"])
    return h.nav(".turning", aria_label="More results")[links] if links else None


def _link(request: Request, offset: int = 0) -> str:
    fields = {"q": request.text}
    if offset:
        fields["offset"] = str(offset)
    if not request.per_site:
        fields["every"] = "1"
    return f"{HERE}?{urlencode(fields)}"
