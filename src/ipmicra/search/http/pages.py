"""Answers -> the search page as HTML, without scripts.

Invariant: pure. Everything that came from a page, a site or a searcher is escaped; `Hit.snippet` alone is
HTML already, escaped where it was made. Nothing is loaded from another origin.

What is the same on every page of answers is made once, with blanks; an answer only fills them, since
building the whole of it out of elements costs more than finding it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache
from html import escape
from urllib.parse import unquote, urlencode

import htpy as h
from markupsafe import Markup

from ipmicra.carrier.ranges import MOMENT_S_MAX
from ipmicra.model.search import Hit, SearchAnswer, SearchRequest
from ipmicra.search.contract import SeenPage
from ipmicra.search.query.query_parser import parse_query
from ipmicra.search.query.stop_words import stop_words_in
from ipmicra.search.ranking.snippets import Marker
from ipmicra.theme.layout import Navigation, document, safe_address

HERE = "/search"
KEPT = "/kept"
HELP = "/search/help"
_NUMBERS_SHOWN = 10  # of pages of results
_BLANKS = ("\x01", "\x02", "\x03", "\x04")  # which nothing that is the same on every page holds

OPERATORS = (
    ('"nearest crawler"', "with these words together, in this order"),
    ("+crawler subnet", "with the marked word in every case"),
    ("tree OR forest", "with one of the words"),
    ("tree -binary", "without the word"),
    ("site:example.org", "of this site, and of sites under it"),
    ("lang:de", "in this language"),
    ("inurl:docs", "with the word in the address"),
    ("intitle:manual", "with the word in the title"),
    ("filetype:pdf", "of this type"),
    ("after:2024-01", "published or changed since then"),
    ("before:2024-06-15", "published or changed before then"),
    ("near:CRAWLER", "last seen by this crawler"),
)


def empty_page(pages: int, navigation: Navigation) -> str:
    """The search page without a query."""
    note = f"{pages:,} pages can be found." if pages else "Nothing has been crawled yet."
    body = h.div(".front")[h.h1["Search the crawl"], _form("", autofocus=True), h.p(".note")[note]]
    return document("Search", body, here=HERE, navigation=navigation, with_search=False)


def answer_page(
    request: SearchRequest, answer: SearchAnswer, navigation: Navigation, with_kept: bool = True
) -> str:
    """`with_kept`: the kept text of each result can be read here."""
    text, short = escape(request.text), escape(request.text[:60])
    rest = [
        _summary(request, answer),
        '<ol class="hits">',
        *(_hit(request, hit, with_kept) for hit in answer.hits),
        "</ol>",
        _turning(request, answer),
    ]
    filled = (short, short, text, "".join(rest), "")
    pieces = zip(_frame(navigation), filled, strict=True)
    return "".join([part for piece in pieces for part in piece])


@lru_cache
def _frame(navigation: Navigation) -> list[str]:
    """The page around four blanks: the title, the heading, the search box and the answer."""
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
        h.a(".note", href=HELP)["Help"],
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


def _hit(request: SearchRequest, hit: Hit, with_kept: bool) -> str:
    notes = [escape(_when(hit.fetched_at_ms, hit.crawler))]
    if hit.published_at_s is not None:
        notes.insert(0, escape(f"published {_day(hit.published_at_s)}"))
    if hit.alike:
        notes.append(f"{hit.alike} alike")
    if hit.missing:
        notes.append(f"does not have: {escape(', '.join(hit.missing))}")
    if with_kept:
        notes.append(_a(f"{KEPT}?{urlencode({'url': hit.url, 'q': request.text})}", "kept text"))
    if hit.more_from_site:
        more = SearchRequest(text=f"{request.text} site:{hit.site}", per_site=0)
        notes.append(_a(_link(more), f"{hit.more_from_site} more from {hit.site}"))
    language = f' lang="{escape(hit.language)}"' if hit.language else ""
    return (
        f"<li><h2>{_a(safe_address(hit.url), hit.title, 'noreferrer')}</h2>"
        f'<p class="address">{escape(breadcrumb(hit.url))}</p><p{language}>{hit.snippet}</p>'
        f'<p class="note">{" · ".join(notes)}</p></li>'
    )


def _when(fetched_at_ms: int, crawler: str) -> str:
    seen = datetime.fromtimestamp(min(max(fetched_at_ms / 1000, 0), MOMENT_S_MAX), tz=UTC)
    return f"seen {seen:%Y-%m-%d %H:%M} UTC by {crawler}"


def _day(moment_s: int) -> str:
    return f"{datetime.fromtimestamp(min(max(moment_s, 0), MOMENT_S_MAX), tz=UTC):%Y-%m-%d}"


def breadcrumb(url: str) -> str:
    """`https://example.org/docs/install.html?x=1` -> example.org › docs › install.html?x=1."""
    scheme, _, rest = url.partition("//")
    parts = [unquote(part, errors="replace") for part in rest.split("/") if part]
    prefix = "" if scheme in ("http:", "https:") else f"{scheme}//"
    return prefix + " › ".join(parts)


def stored_page(url: str, seen: SeenPage | None, text: str, navigation: Navigation) -> str:
    """The text of a page as it was crawled, with the words of the question marked."""
    if seen is None:
        body = h.div(".ask")[
            h.h1["No kept text"], h.p["This page is not in the index, or it was removed."]
        ]
        return document("No kept text", body, here=HERE, navigation=navigation, with_search=False)
    page = seen.page
    title = page.title or url
    shown = "" if page.robots.nosnippet else page.text
    words = parse_query(text).words()
    stops = stop_words_in(words)
    marked = Marker([word for word in words if word not in stops]).marked(shown.replace("¶", ""))
    lines = [Markup(line) for line in marked.split("\n") if line.strip()]  # noqa: S704 - escaped above
    note = (
        h.p(".note")["The page asks search engines not to show its text."]
        if page.robots.nosnippet
        else None
    )
    body = h.div(".ask")[
        h.h1[title],
        h.p(".address")[h.a(href=safe_address(url), rel="noreferrer")[url]],
        h.p(".note")[f"Text as {_when(seen.fetched_at_ms, seen.crawler)}. The page may have changed."],
        note,
        h.div(".kept", lang=page.language or None)[(h.p[line] for line in lines)],
    ]
    return document(
        f"{title[:60]} – kept text", body, here=HERE, navigation=navigation, with_search=False
    )


def help_page(navigation: Navigation) -> str:
    """The help page: the syntax of queries."""
    rows = [
        h.tr[h.td[h.a(href=_link(SearchRequest(text=example)))[h.code[example]]], h.td[meaning]]
        for example, meaning in OPERATORS
    ]
    body = h.div(".ask")[
        h.h1["How to search"],
        h.p["Plain words are enough. Pages with all of them come first; small words need not occur."],
        _form(""),
        h.table[h.thead[h.tr[h.th["Write"], h.th["Finds pages"]]], h.tbody[rows]],
    ]
    return document("How to search", body, here=HERE, navigation=navigation, with_search=False)


def _turning(request: SearchRequest, answer: SearchAnswer) -> str:
    links = ""
    if request.offset > 0:
        before = max(0, request.offset - request.limit)
        links += _a(_link(request, before), "Previous", "prev")
    links += _numbers(request, answer)
    if len(answer.hits) == request.limit:
        after = request.offset + request.limit
        links += _a(_link(request, after), "Next", "next")
    if request.per_site and any(hit.more_from_site for hit in answer.hits):
        every = SearchRequest(text=request.text, limit=request.limit, per_site=0)
        links += _a(_link(every), "All results of each site")
    return f'<nav class="turning" aria-label="More results">{links}</nav>' if links else ""


def _numbers(request: SearchRequest, answer: SearchAnswer) -> str:
    """Pages before this one, this one, and the next; how many follow is not known before they are asked."""
    here = request.offset // request.limit
    last = here + (len(answer.hits) == request.limit)
    if last == 0:
        return ""
    first = max(0, last - _NUMBERS_SHOWN + 1)
    return "".join(
        f'<span aria-current="page">{number + 1}</span>'
        if number == here
        else _a(_link(request, number * request.limit), str(number + 1))
        for number in range(first, last + 1)
    )


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
