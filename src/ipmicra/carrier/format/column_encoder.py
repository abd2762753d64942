"""Pages, one after the other -> words and columns that compress well.

Invariant: lossless, but for what the receiver can compute again (content hash, similarity hash).
Whatever is added, no page is kept: its words go on as they come, columns hold numbers, and each address
and link once.

Like stands by like. What a page says in words is one string: title, description, text, headings, and the
texts of links that did not occur before, a line each, so that a heading stands near the line of the text
that it repeats. An address is kept once, where it first occurs, as what it does not share with the one
before. A link that occurs on many pages is kept once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from ipmicra.model.page import Link, Page
from ipmicra.model.records import PageSeen, Record

TOLD_APART = 16  # among the flags of a page
_SHARED_MAX = 255  # characters that an address shares with the one before it: a byte


class PackageColumns(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What a package has besides words. Integers that tend to grow are kept as differences."""

    others: Sequence[Record]  # everything that is no page
    apart: list[str]  # title, description, headings and new links' texts of pages where one is no line
    heading_counts: list[int]
    link_targets: list[int]  # differences of positions among the addresses
    link_rels: list[int]  # positions among `rels`
    page_links: list[int]  # differences of positions among the links; a new link is the next position
    page_link_counts: list[int]
    address_shared: bytes
    address_rest: str  # joined by NUL
    page_addresses: list[int]  # differences
    canonicals: list[int]  # positions among the addresses, plus one; 0 for none
    rels: list[str]
    languages: list[str]
    media_types: list[str]
    charsets: list[str]
    page_languages: list[int]
    page_media_types: list[int]
    page_charsets: list[int]
    visits: list[int]
    fetched_at_ms: list[int]  # differences
    statuses: list[int]
    body_bytes: list[int]
    published_at_s: list[int | None]
    modified_at_s: list[int | None]
    flags: list[int]  # noindex 1, nofollow 2, nosnippet 4, truncated 8, distinguished 16


class _Row(NamedTuple):
    """What a page has one of."""

    address: int
    canonical: int
    links: int
    headings: int
    language: int
    media_type: int
    charset: int
    visit: int
    fetched_at_ms: int
    status: int
    body_bytes: int
    published_at_s: int | None
    modified_at_s: int | None
    flags: int


class ColumnEncoder:
    """Pages, added one after the other -> their words at once, and all their columns at the end."""

    def __init__(self) -> None:
        self._rows: list[_Row] = []
        self._addresses, self._links = _Numbers[str](), _Numbers[Link]()
        self._address_before = ""
        self._address_shared = bytearray()
        self._address_rests: list[str] = []
        self._apart: list[str] = []
        self._link_targets: list[int] = []
        self._link_rels: list[int] = []
        self._page_links: list[int] = []
        self._rels, self._languages = _Numbers[str](), _Numbers[str]()
        self._media_types, self._charsets = _Numbers[str](), _Numbers[str]()

    def add(self, record: PageSeen) -> str:
        """The words of the next page; pages compress best as `arranging` has them."""
        page, addresses = record.page, self._addresses
        address = addresses[page.url]
        canonical = addresses[page.canonical] + 1 if page.canonical else 0
        self._page_links += map(self._links.__getitem__, page.links)
        new = self._links.take_new()
        self._link_targets += [addresses[link.url] for link in new]
        self._link_rels += [self._rels[link.rel] for link in new]
        self._tell(addresses.take_new())
        beside = [page.title, page.description, *page.headings, *[link.text for link in new]]
        flags = _flags(page)
        if "\n".join(beside).count("\n") == len(beside) - 1:
            words = "\n".join((*beside[:2], page.text, *beside[2:]))
        else:
            words, flags = page.text, flags | TOLD_APART
            self._apart += beside
        self._rows.append(
            _Row(
                address,
                canonical,
                len(page.links),
                len(page.headings),
                self._languages[page.language],
                self._media_types[page.media_type],
                self._charsets[page.charset],
                record.visit,
                record.fetched_at_ms,
                record.status,
                page.body_bytes,
                page.published_at_s,
                page.modified_at_s,
                flags,
            )
        )
        return words

    def columns(self, others: Sequence[Record]) -> PackageColumns:
        rows = self._rows
        return PackageColumns(
            others=others,
            apart=self._apart,
            heading_counts=[row.headings for row in rows],
            link_targets=_differences(self._link_targets),
            link_rels=self._link_rels,
            page_links=_differences(self._page_links),
            page_link_counts=[row.links for row in rows],
            address_shared=bytes(self._address_shared),
            address_rest=_joined(self._address_rests),
            page_addresses=_differences([row.address for row in rows]),
            canonicals=[row.canonical for row in rows],
            rels=list(self._rels),
            languages=list(self._languages),
            media_types=list(self._media_types),
            charsets=list(self._charsets),
            page_languages=[row.language for row in rows],
            page_media_types=[row.media_type for row in rows],
            page_charsets=[row.charset for row in rows],
            visits=[row.visit for row in rows],
            fetched_at_ms=_differences([row.fetched_at_ms for row in rows]),
            statuses=[row.status for row in rows],
            body_bytes=[row.body_bytes for row in rows],
            published_at_s=[row.published_at_s for row in rows],
            modified_at_s=[row.modified_at_s for row in rows],
            flags=[row.flags for row in rows],
        )

    def _tell(self, addresses: Iterable[str]) -> None:
        """Each as what it does not share with the one before."""
        before = self._address_before
        for address in addresses:
            length = _shared_length(before, address)
            self._address_shared.append(length)
            self._address_rests.append(address[length:])
            before = address
        self._address_before = before


_Key = TypeVar("_Key")


class _Numbers(dict[_Key, int]):
    """Things -> numbers, in the order in which they were first asked for."""

    def __init__(self) -> None:
        self._new: list[_Key] = []

    def __missing__(self, key: _Key) -> int:
        number = self[key] = len(self)
        self._new.append(key)
        return number

    def take_new(self) -> list[_Key]:
        """Those that had no number when this was last called."""
        new, self._new = self._new, []
        return new


def _joined(texts: Sequence[str]) -> str:
    joined = "\0".join(texts)
    if joined.count("\0") != max(len(texts) - 1, 0):
        return "\0".join(text.replace("\0", "\ufffd") for text in texts)
    return joined


def _differences(values: Sequence[int]) -> list[int]:
    return [value - before for before, value in zip([0, *values], values, strict=False)]


def _shared_length(before: str, address: str) -> int:
    """Of the folders that both are in: to the last character costs time and saves nothing, zstd finds it."""
    length = before.rfind("/", 0, _SHARED_MAX) + 1
    while length and not address.startswith(before[:length]):
        length = before.rfind("/", 0, length - 1) + 1
    return length


def _flags(page: Page) -> int:
    robots = page.robots
    return robots.noindex | robots.nofollow << 1 | robots.nosnippet << 2 | page.truncated << 3
