"""Columns of package formats 1 and 2 -> the records that were encoded.

A heading or a link's text that is a line of its page's text is stored as the step to that line: positive
for a step forward, the step minus one for a step back or to the same line, 0 for no line.

Invariant: for any columns, this returns records or raises ValueError, in time and memory bounded by the
size of the columns. No program writes these formats any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, islice

import msgspec

from ipmicra.carrier.format.column_decoder import (
    PAGE_HEADINGS_MAX,
    PageTexts,
    addresses_of,
    pages_of,
    portions,
    positions_within,
    split,
)
from ipmicra.carrier.format.field_columns import named, within
from ipmicra.model.page import Link
from ipmicra.model.records import Record

_LINE_CHARACTERS_MAX = 512  # of a line that is a heading or a link's text


class EarlierColumns(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The body of a package then. Integers that tend to grow are kept as differences."""

    others: list[Record]  # every record that is not a page
    texts: str  # joined by NUL, as all strings here
    titles: str
    descriptions: str
    headings: str  # those that are not a line of their page's text
    heading_steps: list[int]  # lines on from the one before
    heading_counts: list[int]
    anchors: str  # as the headings, in the order in which links first occur
    anchor_steps: list[int]
    link_targets: list[int]  # differences of positions among the addresses
    link_rels: list[int]  # positions among `rels`
    page_links: list[int]  # differences of positions among the links; a new link is the next position
    page_link_counts: list[int]
    address_shared: bytes
    address_rest: str
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
    flags: list[int]  # `FLAG_BITS`


def records_of_earlier(columns: EarlierColumns) -> list[Record]:
    """The pages by site and address, then all other records."""
    addresses = addresses_of(columns.address_shared, columns.address_rest)
    texts = split(columns.texts, len(columns.visits))
    headings, page_links = _lines_and_links(columns, addresses, texts)
    titles, descriptions = (
        split(joined, len(texts)) for joined in (columns.titles, columns.descriptions)
    )
    page_texts = map(PageTexts, titles, descriptions, texts, headings, page_links)
    return [*pages_of(columns, addresses, page_texts), *columns.others]


def _lines_and_links(
    columns: EarlierColumns, addresses: Sequence[str], texts: Sequence[str]
) -> tuple[list[list[str]], list[list[Link]]]:
    """Headings and links page by page; a link's text may be a line of the page where it first occurs."""
    headings = _Lines(columns.heading_steps, columns.headings)
    links = _Links(columns, addresses)
    page_headings: list[list[str]] = []
    page_links: list[list[Link]] = []
    positions = portions(list(accumulate(columns.page_links)), columns.page_link_counts)
    for text, count, at in zip(texts, columns.heading_counts, positions, strict=True):
        if not 0 <= count <= PAGE_HEADINGS_MAX:
            raise ValueError(f"a page with {count} headings")
        lines = text.split("\n")
        page_headings.append(headings.take(lines, count))
        page_links.append(links.take(lines, at))
    return page_headings, page_links


class _Lines:
    """Steps from line to line, and strings that are not a line -> the strings."""

    def __init__(self, steps: Sequence[int], explicit: str) -> None:
        self._steps = iter(steps)
        self._explicit = iter(split(explicit, steps.count(0)))

    def take(self, lines: Sequence[str], count: int) -> list[str]:
        taken: list[str] = []
        at = -1
        for step in islice(self._steps, count):
            if not step:
                taken.append(next(self._explicit))
                continue
            at = within(at + (step if step > 0 else step + 1), len(lines))
            if len(lines[at]) > _LINE_CHARACTERS_MAX:
                raise ValueError("a line that is longer than headings and links may be")
            taken.append(lines[at])
        if len(taken) != count:
            raise ValueError("fewer lines than there should be")
        return taken


class _Links:
    """The links of a package, made page by page as they first occur."""

    def __init__(self, columns: EarlierColumns, addresses: Sequence[str]) -> None:
        targets = [addresses[at] for at in positions_within(columns.link_targets, len(addresses))]
        self._known: list[Link] = []
        self._new = list(zip(targets, named(columns.rels, columns.link_rels), strict=True))
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
