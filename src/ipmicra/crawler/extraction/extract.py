"""Bytes, their content type and their address -> a Page.

Invariant: never fails on what a site sends. What is neither HTML, XHTML, plain text nor (with the extra
`pdf`) PDF gives a Page with an address and nothing else.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ipmicra.crawler.extraction.charset import as_utf8
from ipmicra.crawler.extraction.dates import seconds_of
from ipmicra.crawler.extraction.directives import AGENT, directives
from ipmicra.crawler.extraction.language import UsualLanguages, language_of
from ipmicra.crawler.extraction.links import folder_of, joined, links_of, with_refresh
from ipmicra.crawler.extraction.markup import read
from ipmicra.crawler.extraction.metadata import Metadata, metadata_of
from ipmicra.crawler.extraction.pdf import pdf_text
from ipmicra.crawler.extraction.white_space import lines_of
from ipmicra.model.fingerprints import content_hash
from ipmicra.model.page import Link, Page

BODY_BYTES_MAX = 8 * 1024 * 1024  # what is behind that is not read
TEXT_CHARACTERS_MAX = 2 * 1024 * 1024

_HTML = ("", "text/html", "application/xhtml+xml", "application/xml", "text/xml")
_PLAIN = ("text/plain", "text/markdown", "text/x-rst", "text/csv")
_EMPTY_ELEMENT = re.compile(
    rb"<(script|style|title|textarea|iframe|a|div|span|p|i|b|em|td|th|li)(\s[^<>]*)?/>", re.IGNORECASE
)
_SILENT = Metadata()


class _Response(NamedTuple):
    body: bytes
    content_type: str
    url: str
    media_type: str
    robots_header: str
    last_modified: str
    languages: UsualLanguages | None
    agent: str


def extract(
    body: bytes,
    content_type: str,
    url: str,
    *,
    robots_header: str = "",
    last_modified: str = "",
    languages: UsualLanguages | None = None,
    agent: str = AGENT,
) -> Page:
    """Extract what a search engine needs from one response.

    `content_type`, `robots_header` (X-Robots-Tag, one line per field) and `last_modified` are the
    response's headers as received; `url` is where redirects ended. `languages` are those of the crawl's
    earlier pages, where the caller keeps them; without them, the language of every page that declares
    none is detected. `agent`, in lower case, is the name that a site may address us by.
    """
    media_type = content_type.partition(";")[0].strip().lower()
    response = _Response(
        body, content_type, url, media_type, robots_header, last_modified, languages, agent
    )
    if media_type in _HTML:
        return _from_html(response)
    if media_type == "application/pdf":
        return _from_pdf(response)
    if media_type in _PLAIN:
        return _from_plain_text(response)
    return _page(response, head=_SILENT)


def _from_html(response: _Response) -> Page:
    html, charset = as_utf8(response.body[:BODY_BYTES_MAX], response.content_type, response.url)
    if "xml" in response.media_type:
        html = _EMPTY_ELEMENT.sub(rb"<\1\2></\1>", html)
    reading = read(html, folder_of(response.url))
    base = (joined(response.url, reading.base) if reading.base else "") or response.url
    links, too_many = links_of(reading, base)
    canonical = joined(base, reading.canonical) if reading.canonical else ""
    head = metadata_of(reading, response.agent)
    if head.refresh:
        links = with_refresh(links, head.refresh, base)
    return _page(response, head, charset, reading.text, reading.headings, links, canonical, too_many)


def _from_plain_text(response: _Response) -> Page:
    written, charset = as_utf8(response.body[:BODY_BYTES_MAX], response.content_type, response.url)
    text = lines_of(written.decode("utf-8").replace("\0", " "))
    return _page(response, Metadata(title=text.partition("\n")[0][:120]), charset, text)


def _from_pdf(response: _Response) -> Page:
    found = pdf_text(response.body)
    if found is None:
        return _page(response, head=_SILENT)
    text = lines_of(found.text.replace("\0", " "))
    title = found.title.strip() or text.partition("\n")[0][:120]
    return _page(response, Metadata(title=title), "", text, truncated=found.truncated)


def _page(
    response: _Response,
    head: Metadata,
    charset: str = "",
    text: str = "",
    headings: list[str] | None = None,
    links: list[Link] | None = None,
    canonical: str = "",
    truncated: bool = False,
) -> Page:
    shown, links = text[:TEXT_CHARACTERS_MAX], links or []
    return Page(
        url=response.url,
        canonical=canonical if canonical != response.url else "",
        title=head.title,
        description=head.description,
        language=language_of(head.language, shown, response.languages, response.url),
        text=shown,
        headings=headings or [],
        links=links,
        published_at_s=seconds_of(head.published),
        modified_at_s=seconds_of(head.modified) or seconds_of(response.last_modified),
        content_hash=content_hash([head.title, head.description, shown, *[link.url for link in links]]),
        robots=directives(head.robots, response.robots_header, response.agent),
        media_type=response.media_type,
        charset=charset,
        body_bytes=len(response.body),
        truncated=truncated or len(response.body) > BODY_BYTES_MAX or len(text) > TEXT_CHARACTERS_MAX,
    )
