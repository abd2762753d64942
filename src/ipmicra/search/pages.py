"""Answers -> the search page as HTML, without scripts.

Law: pure. Everything that came from a page, a site or a searcher is escaped; `Hit.snippet` alone is HTML
already, escaped where it was made. Nothing is loaded from another origin.
"""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape
from urllib.parse import urlencode

from ipmicra.search.contract import Answer, Hit, Request

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'self'; form-action 'self'; img-src 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)

STYLE = """
:root { color-scheme: light dark; --ink: #1c1e21; --paper: #fdfdfb; --quiet: #62666d; --link: #1a4fa3;
  --good: #2c6e49; --mark: #fff0b3; --line: #dcdcd6; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e3; --paper: #16181b; --quiet: #9a9fa6;
  --link: #8db8ff; --good: #7fc8a0; --mark: #5a4a00; --line: #33373d; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 46rem; padding: 1.2rem; color: var(--ink); background: var(--paper);
  font: 1rem/1.5 system-ui, sans-serif; }
form { display: flex; gap: .5rem; }
input[type=search] { flex: 1; min-width: 0; padding: .6rem .8rem; font: inherit; color: inherit;
  background: transparent; border: 1px solid var(--line); border-radius: .5rem; }
button { padding: .6rem 1.1rem; font: inherit; border: 1px solid var(--line); border-radius: .5rem;
  color: var(--paper); background: var(--link); cursor: pointer; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
ol { list-style: none; margin: 1.5rem 0; padding: 0; }
li { margin: 0 0 1.6rem; overflow-wrap: anywhere; }
h1 { font-size: 1.3rem; margin: 0 0 .8rem; }
h2 { font-size: 1.12rem; font-weight: 600; margin: 0; }
p { margin: .15rem 0; }
mark { background: var(--mark); color: inherit; border-radius: .2rem; }
.address { color: var(--good); font-size: .9rem; }
.note { color: var(--quiet); font-size: .85rem; }
nav { display: flex; gap: 1.5rem; }
"""


def empty_page(pages: int) -> str:
    """What a searcher sees first."""
    note = f"{pages:,} pages can be found." if pages else "Nothing has been crawled yet."
    return _document("Search", _form("", autofocus=True) + f'<p class="note">{note}</p>')


def answer_page(request: Request, answer: Answer) -> str:
    title = f"{request.text[:60]} – search"
    hits = "".join(_hit(hit) for hit in answer.hits)
    body = (
        _form(request.text) + _summary(request, answer) + f"<ol>{hits}</ol>" + _turning(request, answer)
    )
    return _document(title, body)


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


def _document(title: str, body: str) -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title>"
        '<link rel="stylesheet" href="/style.css">'
        '<link rel="search" href="/opensearch.xml" title="ipmicra" '
        'type="application/opensearchdescription+xml">'
        f'</head><body><header><h1><a href="/">ipmicra</a></h1></header><main>{body}</main></body></html>'
    )


def _form(text: str, autofocus: bool = False) -> str:
    focus = " autofocus" if autofocus else ""
    return (
        '<form action="/search" role="search"><input type="search" name="q" maxlength="1000" '
        f'aria-label="Search" value="{escape(text)}"{focus}><button>Search</button></form>'
    )


def _summary(request: Request, answer: Answer) -> str:
    words = [f"{answer.total:,} pages match, {answer.took_ms:.1f} ms", *answer.remarks]
    lines = [f'<p class="note">{escape("; ".join(words))}</p>']
    if answer.did_you_mean:
        better = _link(Request(text=answer.did_you_mean, per_site=request.per_site))
        lines.append(f'<p>Did you mean <a href="{better}">{escape(answer.did_you_mean)}</a>?</p>')
    return "".join(lines)


def _hit(hit: Hit) -> str:
    seen = datetime.fromtimestamp(hit.fetched_at_ms / 1000, tz=UTC)
    notes = [f"seen {seen:%Y-%m-%d %H:%M} UTC by {escape(hit.crawler)}"]
    if hit.alike:
        notes.append(f"{hit.alike} alike")
    if hit.more_from_site:
        notes.append(f"{hit.more_from_site} more from {escape(hit.site)}")
    return (
        f'<li><h2><a href="{escape(_safe(hit.url))}" rel="noreferrer">{escape(hit.title)}</a></h2>'
        f'<p class="address">{escape(hit.url)}</p><p lang="{escape(hit.language)}">{hit.snippet}</p>'
        f'<p class="note">{", ".join(notes)}</p></li>'
    )


def _safe(url: str) -> str:
    """Only addresses that a browser fetches; nothing that it would run."""
    return url if url.startswith(("http://", "https://")) else "#"


def _turning(request: Request, answer: Answer) -> str:
    links = []
    if request.offset > 0:
        before = max(0, request.offset - request.limit)
        links.append(f'<a rel="prev" href="{_link(request, before)}">Previous</a>')
    if len(answer.hits) == request.limit:
        links.append(f'<a rel="next" href="{_link(request, request.offset + request.limit)}">Next</a>')
    if request.per_site:
        every = Request(text=request.text, limit=request.limit, per_site=0)
        links.append(f'<a href="{_link(every)}">All results of each site</a>')
    return f'<nav aria-label="More results">{" ".join(links)}</nav>' if links else ""


def _link(request: Request, offset: int = 0) -> str:
    fields = {"q": request.text}
    if offset:
        fields["offset"] = str(offset)
    if not request.per_site:
        fields["every"] = "1"
    return escape(f"/search?{urlencode(fields)}")
