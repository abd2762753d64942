"""Texts and columns -> the records that were encoded.

Invariant: for any columns, this returns records or raises ValueError, in time and memory bounded by the
size of the columns: addresses have their own cap, everything else is shared, not copied.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, islice
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ipmicra.carrier.format.column_encoder import PackageColumns
from ipmicra.carrier.format.field_columns import TOLD_APART, decode_fields, named, within
from ipmicra.model.fingerprints import content_hash
from ipmicra.model.page import Link, Page
from ipmicra.model.records import PageSeen, Record

if TYPE_CHECKING:
    from ipmicra.carrier.format.format_v1_v2 import EarlierColumns

ADDRESS_CHARACTERS_MAX = 128 * 1024 * 1024  # of all addresses of a package together
PAGE_LINKS_MAX = 50_000
PAGE_HEADINGS_MAX = 1_000
_TEXT_FROM = 2  # lines: title and description stand before the text

_Value = TypeVar("_Value")


def records_of(columns: PackageColumns, words: memoryview) -> list[Record]:
    """The pages by language, site and address, then all other records."""
    addresses = addresses_of(columns.address_shared, columns.address_rest)
    texts = _page_texts(columns, addresses, _page_by_page(words, len(columns.visits)))
    return [*pages_of(columns, addresses, texts), *columns.others]


def pages_of(
    columns: PackageColumns | EarlierColumns, addresses: Sequence[str], texts: Iterable[PageTexts]
) -> Iterator[PageSeen]:
    """The pages of a package of any format, of whose words `texts` is what they say."""
    urls = [addresses[at] for at in positions_within(columns.page_addresses, len(addresses))]
    canonicals = [addresses[within(at - 1, len(addresses))] if at else "" for at in columns.canonicals]
    fields = decode_fields(columns, columns.flags)
    names = tuple(fields)
    rows = zip(
        urls, canonicals, texts, zip(*fields.values(), strict=True),
        columns.visits, accumulate(columns.fetched_at_ms), columns.statuses,
        strict=True,
    )  # fmt: skip
    for url, canonical, page_texts, values, visit, fetched_at_ms, status in rows:
        title, description, text, headings, links = page_texts
        page = Page(
            url=url,
            canonical=canonical,
            title=title,
            description=description,
            text=text,
            headings=headings,
            links=links,
            content_hash=content_hash([title, description, text, *[link.url for link in links]]),
            **dict(zip(names, values, strict=True)),
        )
        yield PageSeen(url=url, visit=visit, fetched_at_ms=fetched_at_ms, page=page, status=status)


class PageTexts(NamedTuple):
    """The texts of a page."""

    title: str
    description: str
    text: str
    headings: list[str]
    links: list[Link]


def _page_texts(
    columns: PackageColumns, addresses: Sequence[str], strings: Iterable[str]
) -> Iterator[PageTexts]:
    """The texts, page by page. A link's text stands where the link first occurs."""
    targets = [addresses[at] for at in positions_within(columns.link_targets, len(addresses))]
    without_text = list(zip(targets, named(columns.rels, columns.link_rels), strict=True))
    positions = portions(list(accumulate(columns.page_links)), columns.page_link_counts)
    apart, known = iter(columns.apart), list[Link]()
    rows = zip(strings, columns.heading_counts, positions, columns.flags, strict=True)
    for string, headings, links, flags in rows:
        until = max(len(known), max(links, default=-1) + 1)
        if until > len(without_text) or min(links, default=0) < 0:
            raise ValueError("a link that does not exist")
        if not 0 <= headings <= PAGE_HEADINGS_MAX:
            raise ValueError(f"a page with {headings} headings")
        count = headings + until - len(known)
        if flags & TOLD_APART:
            text, (title, description, *after) = string, _taken(apart, 2 + count)
        else:
            title, description, text, after = _lines(string, count)
        new = zip(without_text[len(known) : until], after[headings:], strict=True)
        known += [Link(url, words, rel) for (url, rel), words in new]
        yield PageTexts(title, description, text, after[:headings], [known[at] for at in links])
    if next(apart, None) is not None:
        raise ValueError("words that are of no page")


def _page_by_page(words: memoryview, count: int) -> Iterator[str]:
    """Text by text: as one string, a single wide character would widen all."""
    ends = [found.start() for found in islice(re.finditer(rb"\0", words), count)] + [len(words)]
    if len(ends) != count and (count or len(words)):
        raise ValueError(f"not as many texts as there should be, {count}")
    start = 0
    for end in ends[:count]:
        yield str(words[start:end], "utf-8")
        start = end + 1


def _lines(words: str, after: int) -> tuple[str, str, str, list[str]]:
    """Title, description, text, and the lines after it."""
    lines = words.split("\n")
    text_until = len(lines) - after
    if text_until < _TEXT_FROM + 1:
        raise ValueError("fewer lines than there should be")
    return lines[0], lines[1], "\n".join(lines[_TEXT_FROM:text_until]), lines[text_until:]


def _taken(strings: Iterator[str], count: int) -> list[str]:
    taken = list(islice(strings, count))
    if len(taken) != count:
        raise ValueError("fewer words than there should be")
    return taken


def addresses_of(shared: bytes, rest: str) -> list[str]:
    addresses: list[str] = []
    before, characters = "", 0
    for length, tail in zip(shared, split(rest, len(shared)), strict=True):
        before = before[:length] + tail
        characters += len(before)
        if characters > ADDRESS_CHARACTERS_MAX:
            raise ValueError(f"addresses of more than {ADDRESS_CHARACTERS_MAX} characters")
        addresses.append(before)
    return addresses


def split(joined: str, count: int) -> list[str]:
    texts = joined.split("\0") if count else []
    if len(texts) != count or (not count and joined):
        raise ValueError(f"{len(texts)} texts where there should be {count}")
    return texts


def positions_within(differences: Sequence[int], count: int) -> list[int]:
    positions = list(accumulate(differences))
    if positions and (min(positions) < 0 or max(positions) >= count):
        raise ValueError("a position that does not exist")
    return positions


def portions(values: Sequence[_Value], counts: Sequence[int]) -> list[list[_Value]]:
    if sum(counts) != len(values) or (counts and not 0 <= min(counts) <= max(counts) <= PAGE_LINKS_MAX):
        raise ValueError("counts that do not fit what is counted")
    rest = iter(values)
    return [list(islice(rest, count)) for count in counts]
