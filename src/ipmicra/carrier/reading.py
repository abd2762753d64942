"""Columns -> the records that they were made of.

Law: whatever the columns say, this returns records or raises ValueError, in time and memory that the
size of the columns bounds: addresses have a cap of their own, everything else is shared, not copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, islice
from typing import TypeVar

from ipmicra.carrier.layout import Columns
from ipmicra.carrier.record import PageSeen, Record
from ipmicra.crawler.extraction.fingerprints import content_hash
from ipmicra.crawler.extraction.page import Link, Page, RobotsDirectives

ADDRESS_CHARACTERS_MAX = 128 * 1024 * 1024  # of all addresses of a package together
PAGE_LINKS_MAX = 50_000
PAGE_HEADINGS_MAX = 1_000
_LINE_CHARACTERS_MAX = 512  # of a line that is a heading or a link's text

_Value = TypeVar("_Value")


def records_of(columns: Columns) -> list[Record]:
    """The pages by site and address, then all other records."""
    addresses = _addresses(columns.address_shared, columns.address_rest)
    texts = _split(columns.texts, len(columns.visits))
    headings, page_links = _lines_and_links(columns, addresses, texts)
    titles, descriptions = (
        _split(joined, len(texts)) for joined in (columns.titles, columns.descriptions)
    )
    urls = [addresses[at] for at in _positions(columns.page_addresses, len(addresses))]
    canonicals = [addresses[_within(at - 1, len(addresses))] if at else "" for at in columns.canonicals]
    rows = zip(
        urls, canonicals, titles, descriptions, texts, headings, page_links,
        _named(columns.languages, columns.page_languages),
        _named(columns.media_types, columns.page_media_types),
        _named(columns.charsets, columns.page_charsets),
        columns.published_at_s, columns.modified_at_s, columns.body_bytes, columns.flags,
        columns.visits, accumulate(columns.fetched_at_ms), columns.statuses,
        strict=True,
    )  # fmt: skip
    return [*(_page_seen(*row) for row in rows), *columns.others]


def _page_seen(
    url: str, canonical: str, title: str, description: str, text: str, headings: list[str], links: list[Link],
    language: str, media_type: str, charset: str, published_at_s: int | None, modified_at_s: int | None,
    body_bytes: int, flags: int, visit: int, fetched_at_ms: int, status: int,
) -> PageSeen:  # fmt: skip
    page = Page(
        url=url,
        canonical=canonical,
        title=title,
        description=description,
        language=language,
        text=text,
        headings=headings,
        links=links,
        published_at_s=published_at_s,
        modified_at_s=modified_at_s,
        content_hash=content_hash([title, description, text, *[link.url for link in links]]),
        robots=RobotsDirectives(bool(flags & 1), bool(flags & 2), bool(flags & 4)),
        media_type=media_type,
        charset=charset,
        body_bytes=body_bytes,
        truncated=bool(flags & 8),
    )
    return PageSeen(url=url, visit=visit, fetched_at_ms=fetched_at_ms, page=page, status=status)


def _addresses(shared: bytes, rest: str) -> list[str]:
    addresses: list[str] = []
    before, characters = "", 0
    for length, tail in zip(shared, _split(rest, len(shared)), strict=True):
        before = before[:length] + tail
        characters += len(before)
        if characters > ADDRESS_CHARACTERS_MAX:
            raise ValueError(f"addresses of more than {ADDRESS_CHARACTERS_MAX} characters")
        addresses.append(before)
    return addresses


def _lines_and_links(
    columns: Columns, addresses: Sequence[str], texts: Sequence[str]
) -> tuple[list[list[str]], list[list[Link]]]:
    """Headings and links page by page; a link's text may be a line of the page where it first occurs."""
    headings = _Lines(columns.heading_steps, columns.headings)
    links = _Links(columns, addresses)
    page_headings: list[list[str]] = []
    page_links: list[list[Link]] = []
    positions = _portions(list(accumulate(columns.page_links)), columns.page_link_counts)
    for text, count, at in zip(texts, columns.heading_counts, positions, strict=True):
        if not 0 <= count <= PAGE_HEADINGS_MAX:
            raise ValueError(f"a page with {count} headings")
        lines = text.split("\n")
        page_headings.append(headings.take(lines, count))
        page_links.append(links.take(lines, at))
    return page_headings, page_links


class _Lines:
    """Steps from line to line, and strings that are no line -> the strings."""

    def __init__(self, steps: Sequence[int], explicit: str) -> None:
        self._steps = iter(steps)
        self._explicit = iter(_split(explicit, steps.count(0)))

    def take(self, lines: Sequence[str], count: int) -> list[str]:
        taken: list[str] = []
        at = -1
        for step in islice(self._steps, count):
            if not step:
                taken.append(next(self._explicit))
                continue
            at = _within(at + (step if step > 0 else step + 1), len(lines))
            if len(lines[at]) > _LINE_CHARACTERS_MAX:
                raise ValueError("a line that is longer than headings and links may be")
            taken.append(lines[at])
        if len(taken) != count:
            raise ValueError("fewer lines than there should be")
        return taken


class _Links:
    """The links of a package, made page by page as they first occur."""

    def __init__(self, columns: Columns, addresses: Sequence[str]) -> None:
        targets = [addresses[at] for at in _positions(columns.link_targets, len(addresses))]
        self._known: list[Link] = []
        self._new = list(zip(targets, _named(columns.rels, columns.link_rels), strict=True))
        self._texts = _Lines(columns.anchor_steps, columns.anchors)

    def take(self, lines: Sequence[str], positions: Sequence[int]) -> list[Link]:
        known = len(self._known)
        until = max(known, max(positions, default=-1) + 1)
        if until > len(self._new) or min(positions, default=0) < 0:
            raise ValueError("a link that does not exist")
        texts = self._texts.take(lines, until - known)
        self._known += [
            Link(url, text, rel) for (url, rel), text in zip(self._new[known:until], texts, strict=True)
        ]
        return [self._known[at] for at in positions]


def _split(joined: str, count: int) -> list[str]:
    texts = joined.split("\0") if count else []
    if len(texts) != count or (not count and joined):
        raise ValueError(f"{len(texts)} texts where there should be {count}")
    return texts


def _positions(differences: Sequence[int], count: int) -> list[int]:
    positions = list(accumulate(differences))
    if positions and (min(positions) < 0 or max(positions) >= count):
        raise ValueError("a position that does not exist")
    return positions


def _portions(values: Sequence[_Value], counts: Sequence[int]) -> list[list[_Value]]:
    if sum(counts) != len(values) or (counts and not 0 <= min(counts) <= max(counts) <= PAGE_LINKS_MAX):
        raise ValueError("counts that do not fit what is counted")
    rest = iter(values)
    return [list(islice(rest, count)) for count in counts]


def _named(names: Sequence[str], positions: Sequence[int]) -> list[str]:
    return [names[_within(at, len(names))] for at in positions]


def _within(position: int, count: int) -> int:
    if not 0 <= position < count:
        raise ValueError("a position that does not exist")
    return position
