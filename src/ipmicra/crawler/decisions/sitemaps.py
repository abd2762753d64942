"""Bytes of a sitemap or feed -> the URLs it names, with its dates and frequencies as hints.

Sitemaps and sitemap indexes (sitemaps.org 0.9), plain-text sitemaps, RSS 0.9 to 2.0 and Atom. Invariant:
for any bytes, the result comes in bounded time and memory, and in steps of a few milliseconds: the file is
inflated and parsed piece by piece. Entity declarations are refused, so nothing expands.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Generator, Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import chain
from typing import NamedTuple, TypeAlias
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
LINK_TAG_BYTES_MAX = 1_024
LISTING_BYTES_MAX = 10 << 20  # inflated; a whole sitemap of 50,000 URLs with dates has about as many
INFLATE_RATIO_MAX = 200  # of a gzipped listing to what crossed the wire, over all layers: as of any body
ELEMENTS_MAX = 16 * ENTRIES_MAX  # of a listing: an entry with images and languages has about ten
NAMES_MAX = 1_000  # of elements and name spaces: the parser's table of them grows by leaps
PIECE_BYTES = 16 << 10  # parsed in one step: of nothing but tags some 5 ms
LINES_PER_STEP = 2_000
FEEDS_MAX = 10
_LISTING = re.compile(rb"<(?:urlset|sitemapindex|rss|feed|rdf:rdf)", re.IGNORECASE)
_FEED_TYPES = (b"application/rss+xml", b"application/atom+xml")
_HREF = re.compile(rb"""\bhref\s{0,20}=\s{0,20}(?:"([^"]*)"|'([^']*)'|([^\s>]+))""", re.IGNORECASE)
_PLAIN_ENTRY = re.compile(r"https?://\S{1,2048}", re.IGNORECASE)
_ROOTS = frozenset({"urlset", "sitemapindex", "rss", "feed", "rdf"})
_ENTRIES = frozenset({"url", "sitemap", "item", "entry"})
_DATES = frozenset({"lastmod", "updated", "pubdate", "published", "date"})


class SitemapEntry(NamedTuple):
    """One URL that a sitemap or feed names, and what it claims about it."""

    reference: str  # as written; may be relative in feeds
    modified_s: int | None = None
    change_seconds: int = 0  # 0: no claim


class ListingBomb(Exception):
    """A gzipped listing that inflates as nothing that people write does."""


ListingSteps: TypeAlias = Generator[None, None, list[SitemapEntry] | None]


def listing(body: bytes, wire_bytes: int | None = None) -> list[SitemapEntry] | None:
    """The URLs in a sitemap or feed, gzipped or not; None when the bytes are neither. Raises ListingBomb.

    `wire_bytes` are those that the body crossed the wire as, where that is known.
    """
    steps = listing_steps(body, wire_bytes)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: list[SitemapEntry] | None = end.value
            return found


def listing_steps(body: bytes, wire_bytes: int | None = None) -> ListingSteps:
    """The same, which yields wherever others may run in between."""
    head, pieces = body, _slices(body)
    if body.startswith(b"\x1f\x8b"):
        pieces = _inflated(body, len(body) if wire_bytes is None else min(wire_bytes, len(body)))
        head = next(pieces, b"")
        pieces = chain([head], pieces)
    if looks_like_listing(head):
        return (yield from _listed(pieces))
    if not _begins_with_an_address(head):
        return None
    inflated = bytearray()
    for piece in pieces:
        inflated += piece
        yield
    return (yield from _listed_plainly(bytes(inflated)))


def _slices(body: bytes) -> Iterator[bytes]:
    return (body[at : at + PIECE_BYTES] for at in range(0, len(body), PIECE_BYTES))


def _inflated(body: bytes, wire_bytes: int) -> Iterator[bytes]:
    """Pieces; nothing where it is not gzip, and no more than a listing may have."""
    machine = zlib.decompressobj(wbits=31)
    at = made = 0
    while not machine.eof and made < LISTING_BYTES_MAX:
        offered = machine.unconsumed_tail
        if not offered:
            offered, at = body[at : at + PIECE_BYTES], at + PIECE_BYTES
        if not offered:
            return
        try:
            piece = machine.decompress(offered, PIECE_BYTES)
        except zlib.error:
            return
        made += len(piece)
        if made > INFLATE_RATIO_MAX * wire_bytes:
            raise ListingBomb(
                f"a listing of {wire_bytes} bytes inflates more than {INFLATE_RATIO_MAX} times"
            )
        yield piece


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
    for tag in _link_tags(html[:end]):
        address = _HREF.search(tag) if any(kind in tag.lower() for kind in _FEED_TYPES) else None
        if address is not None:
            text = (address[1] or address[2] or address[3]).decode("utf-8", errors="replace")
            found.append(SitemapEntry(text.replace("&amp;", "&")))
            if len(found) == FEEDS_MAX:
                break
    return found


def _link_tags(head: bytes) -> Iterator[bytes]:
    """The `link` tags from `<` to `>`, as far as they are not overlong. No byte is looked at twice."""
    lowered, at = head.lower(), 0
    while (start := lowered.find(b"<link", at)) >= 0:
        at = lowered.find(b">", start) + 1
        if at <= 0:
            return
        if at - start <= LINK_TAG_BYTES_MAX and not lowered[start + 5 : start + 6].isalnum():
            yield head[start:at]


def _listed(pieces: Iterator[bytes]) -> ListingSteps:
    """The listed URLs; those before a fault in the XML count, those after it are lost."""
    reader = _Reader()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    parser.EntityDeclHandler = _refuse_entity
    try:
        for piece in pieces:
            parser.Parse(piece, False)
            yield
        parser.Parse(b"", True)
    except (expat.ExpatError, _Enough, ValueError, LookupError):  # the last: no such encoding
        return reader.found
    return reader.found


def _begins_with_an_address(body: bytes) -> bool:
    start = body[:HEAD_BYTES_MAX].removeprefix(b"\xef\xbb\xbf").lstrip()
    return start[:8].lower().startswith((b"http://", b"https://"))


def _listed_plainly(body: bytes) -> ListingSteps:
    """The URLs of a plain-text sitemap, one per line; None if a line is something else."""
    body = body.removeprefix(b"\xef\xbb\xbf").lstrip()
    lines = body.decode("utf-8", errors="replace").split("\n", ENTRIES_MAX)[:ENTRIES_MAX]
    found: list[SitemapEntry] = []
    for at in range(0, len(lines), LINES_PER_STEP):
        some = [line.strip() for line in lines[at : at + LINES_PER_STEP] if line and not line.isspace()]
        if not all(map(_PLAIN_ENTRY.fullmatch, some)):
            return None
        found += map(SitemapEntry, some)
        yield
    return found


class _Enough(Exception):
    """Raised to stop reading."""


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
        self._elements = 0
        self._names: set[str] = set()

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._elements += 1
        self._names.add(name)
        if self._elements > ELEMENTS_MAX or len(self._names) > NAMES_MAX:
            raise _Enough
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
