"""Answers -> the search page as HTML, without scripts.

Law: pure. Everything that came from a page, a site or a searcher is escaped; `Hit.snippet` alone is HTML
already, escaped where it was made. Nothing is loaded from another origin.

What is the same on every page of answers is made once, with blanks; an answer only fills them, since
building the whole of it out of elements costs more than finding it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache
from html import escape
from urllib.parse import urlencode

import htpy as h

from ipmicra.carrier.ranges import MOMENT_S_MAX
from ipmicra.model.search import Hit, SearchAnswer, SearchRequest
from ipmicra.theme.layout import Navigation, document, safe_address

HERE = "/search"
_BLANKS = ("\x01", "\x02", "\x03", "\x04")  # which nothing that is the same on every page holds


def empty_page(pages: int, navigation: Navigation) -> str:
    """What a searcher sees first."""
    note = f"{pages:,} pages can be found." if pages else "Nothing has been crawled yet."
    body = h.div(".front")[h.h1["Search the crawl"], _form("", autofocus=True), h.p(".note")[note]]
    return document("Search", body, here=HERE, navigation=navigation, with_search=False)


def answer_page(request: SearchRequest, answer: SearchAnswer, navigation: Navigation) -> str:
    text, short = escape(request.text), escape(request.text[:60])
    rest = [
        _summary(request, answer),
        '<ol class="hits">',
        *(_hit(request, hit) for hit in answer.hits),
        "</ol>",
        _turning(request, answer),
    ]
    filled = (short, short, text, "".join(rest), "")
    pieces = zip(_frame(navigation), filled, strict=True)
    return "".join([part for piece in pieces for part in piece])


@lru_cache
def _frame(navigation: Navigation) -> list[str]:
    """What stands around the four blanks: in the title, the heading, the box, and for the answer."""
    title, heading, box, rest = _BLANKS
    body = h.div(".ask")[h.h1[f"Results for “{heading}”"], _form(box), rest]
    page = document(f"{title} – search", body, here=HERE, navigation=navigation, with_search=False)
    return re.split("|".join(_BLANKS), page)


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


def _summary(request: SearchRequest, answer: SearchAnswer) -> str:
    words = [_counted(answer.total, answer.took_ms), *answer.remarks]
    if answer.without:
        words.append(f"without: {', '.join(answer.without)}")
    summary = f'<p class="note">{escape("; ".join(words))}</p>'
    if answer.corrected:
        return summary + _corrected(request, answer.did_you_mean)
    if answer.did_you_mean:
        better = _link(SearchRequest(text=answer.did_you_mean, per_site=request.per_site))
        summary += f"<p>Did you mean {_a(better, answer.did_you_mean)}?</p>"
    return summary


def _counted(total: int, took_ms: float) -> str:
    if not total:
        return "No pages found. Try fewer words, or check the spelling"
    return f"{'1 page matches' if total == 1 else f'{total:,} pages match'}, {took_ms:.1f} ms"


def _corrected(request: SearchRequest, better: str) -> str:
    as_written = " ".join(f'"{word}"' for word in request.text.replace('"', " ").split())
    link = _link(SearchRequest(text=as_written, per_site=request.per_site))
    return (
        f"<p>Showing results for <strong>{escape(better)}</strong>. "
        f"Search for {_a(link, request.text)} as written instead.</p>"
    )


def _hit(request: SearchRequest, hit: Hit) -> str:
    seen = datetime.fromtimestamp(min(max(hit.fetched_at_ms / 1000, 0), MOMENT_S_MAX), tz=UTC)
    notes = f"seen {seen:%Y-%m-%d %H:%M} UTC by {hit.crawler}"
    if hit.alike:
        notes += f", {hit.alike} alike"
    if hit.more_from_site:
        notes += f", {hit.more_from_site} more from {hit.site}"
    language = f' lang="{escape(hit.language)}"' if hit.language else ""
    return (
        f"<li><h2>{_a(safe_address(hit.url), hit.title, 'noreferrer')}</h2>"
        f'<p class="address">{escape(hit.url)}</p><p{language}>{hit.snippet}</p>'
        f'<p class="note">{escape(notes)}</p></li>'
    )


def _turning(request: SearchRequest, answer: SearchAnswer) -> str:
    links = ""
    if request.offset > 0:
        before = max(0, request.offset - request.limit)
        links += _a(_link(request, before), "Previous", "prev")
    if len(answer.hits) == request.limit:
        after = request.offset + request.limit
        links += _a(_link(request, after), "Next", "next")
    if request.per_site:
        every = SearchRequest(text=request.text, limit=request.limit, per_site=0)
        links += _a(_link(every), "All results of each site")
    return f'<nav class="turning" aria-label="More results">{links}</nav>' if links else ""


def _a(address: str, text: str, relation: str = "") -> str:
    rel = f' rel="{relation}"' if relation else ""
    return f'<a href="{escape(address)}"{rel}>{escape(text)}</a>'


def _link(request: SearchRequest, offset: int = 0) -> str:
    fields = {"q": request.text}
    if offset:
        fields["offset"] = str(offset)
    if not request.per_site:
        fields["every"] = "true"
    return f"{HERE}?{urlencode(fields)}"
