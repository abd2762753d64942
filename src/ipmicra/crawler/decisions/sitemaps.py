"""Bytes of a sitemap or feed -> the URLs it names, with its dates and frequencies as hints.

Sitemaps and sitemap indexes (sitemaps.org 0.9), plain-text sitemaps, RSS 0.9 to 2.0 and Atom.
Law: whatever the bytes are, the answer comes in bounded time and memory; entity declarations are refused,
so nothing expands.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple
from xml.parsers import expat

ENTRIES_MAX = 50_000  # sitemaps.org's own limit
TEXT_LENGTH_MAX = 4_000

FREQUENCY_SECONDS = {
    "always": 3_600,
    "hourly": 3_600,
    "daily": 86_400,
    "weekly": 7 * 86_400,
    "monthly": 30 * 86_400,
    "yearly": 365 * 86_400,
    "never": 365 * 86_400,
}
HEAD_BYTES_MAX = 64 << 10
FEEDS_MAX = 10
_LISTING = re.compile(rb"<(?:urlset|sitemapindex|rss|feed|rdf:rdf)", re.IGNORECASE)
_FEED_LINK = re.compile(rb"<link\b[^>]{0,500}application/(?:rss|atom)\+xml[^>]{0,500}>", re.IGNORECASE)
_HREF = re.compile(rb"""\bhref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))""", re.IGNORECASE)
_PLAIN_ENTRY = re.compile(r"https?://\S{1,2048}", re.IGNORECASE)
_ROOTS = frozenset({"urlset", "sitemapindex", "rss", "feed", "rdf"})
_ENTRIES = frozenset({"url", "sitemap", "item", "entry"})
_DATES = frozenset({"lastmod", "updated", "pubdate", "published", "date"})


class SitemapEntry(NamedTuple):
    """One URL that a sitemap or feed names, and what it claims about it."""

    reference: str  # as written; may be relative in feeds
    modified_s: int | None = None
    change_seconds: int = 0  # 0: no claim


def looks_like_listing(body: bytes) -> bool:
    """Whether the bytes begin as a sitemap or feed does."""
    head = body[:1024].lstrip(b"\xef\xbb\xbf \t\r\n")
    if head[:14].lower().startswith((b"<!doctype html", b"<html")):
        return False
    return head.startswith(b"<") and _LISTING.search(head) is not None


def feeds_in(html: bytes) -> list[SitemapEntry]:
    """The feeds that a page announces in its head."""
    head_end = html.find(b"</head", 0, HEAD_BYTES_MAX)
    end = head_end if head_end >= 0 else HEAD_BYTES_MAX
    if html.find(b"+xml", 0, end) < 0:
        return []
    found = []
    for tag in _FEED_LINK.findall(html, 0, end):
        address = _HREF.search(tag)
        if address is not None:
            text = (address[1] or address[2] or address[3]).decode("utf-8", errors="replace")
            found.append(SitemapEntry(text.replace("&amp;", "&")))
    return found[:FEEDS_MAX]


def listed(body: bytes) -> list[SitemapEntry]:
    """The URLs named; what is read before a fault in the XML counts, what follows it is lost."""
    reader = _Reader()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    parser.EntityDeclHandler = _refuse_entity
    try:
        parser.Parse(body, True)
    except (expat.ExpatError, _Enough, ValueError, LookupError):  # the last: no such encoding
        return reader.found
    return reader.found


def listed_plainly(body: bytes) -> list[SitemapEntry] | None:
    """The URLs of a plain-text sitemap, one a line; None where any line is something else."""
    body = body.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not body[:8].lower().startswith((b"http://", b"https://")):
        return None
    lines = body.decode("utf-8", errors="replace").split("\n", ENTRIES_MAX)[:ENTRIES_MAX]
    found = [line.strip() for line in lines if line and not line.isspace()]
    if not all(map(_PLAIN_ENTRY.fullmatch, found)):
        return None
    return [SitemapEntry(reference) for reference in found]


class _Enough(Exception):
    """No more is read."""


def _refuse_entity(*_: object) -> None:
    raise _Enough


class _Reader:
    def __init__(self) -> None:
        self.found: list[SitemapEntry] = []
        self._root: str | None = None
        self._inside = False  # an entry
        self._reference = ""
        self._modified_s: int | None = None
        self._change_seconds = 0
        self._text: list[str] = []
        self._text_length = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        local = _local(name)
        if self._root is None:
            if local not in _ROOTS:
                raise _Enough
            self._root = local
        if local in _ENTRIES:
            self._inside, self._reference, self._modified_s, self._change_seconds = True, "", None, 0
        elif local == "link" and self._inside and attributes.get("rel", "alternate") == "alternate":
            self._reference = self._reference or attributes.get("href", "")
        self._text, self._text_length = [], 0

    def text(self, text: str) -> None:
        if self._inside and self._text_length < TEXT_LENGTH_MAX:
            self._text.append(text)
            self._text_length += len(text)

    def end(self, name: str) -> None:
        local = _local(name)
        if local in _ENTRIES and self._inside:
            self._close_entry()
        elif self._inside:
            self._take(name, local, "".join(self._text).strip())
        self._text, self._text_length = [], 0

    def _take(self, name: str, local: str, text: str) -> None:
        if local in {"loc", "link"} and text and "image" not in name and "video" not in name:
            self._reference = self._reference or text
        elif local in _DATES and text:
            self._modified_s = seconds_of_date(text) or self._modified_s
        elif local == "changefreq":
            self._change_seconds = FREQUENCY_SECONDS.get(text.lower(), 0)

    def _close_entry(self) -> None:
        self._inside = False
        if self._reference:
            self.found.append(SitemapEntry(self._reference, self._modified_s, self._change_seconds))
            if len(self.found) >= ENTRIES_MAX:
                raise _Enough


def seconds_of_date(text: str) -> int | None:
    """W3C dates of sitemaps and Atom, RFC 822 dates of RSS; a date without a zone is UTC."""
    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            moment = parse(text)
            return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
        except (ValueError, TypeError, OverflowError):
            continue
    return None


def _local(name: str) -> str:
    return name.rpartition(" ")[2].lower()
