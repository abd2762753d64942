"""A page and the digest of the one before -> the delta; a delta and the page before -> the page.

A page is treated as a list of strings: title, description and the like, headings, lines of text, links.
The crawler stores a base digest of the page that was sent before: four bytes per string. A delta is the
new strings, and the places of the others in the base.

Invariant: pure. `apply_delta` returns the page to the last character or raises `BaseMissing`: the base
digest is too small to be certain, so a delta carries a digest of the page that it was made from. The
content hash of the result is computed, never copied from the delta.
"""

from __future__ import annotations

import hashlib
import zlib
from array import array
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import suppress
from operator import attrgetter
from typing import Any

from ipmicra.carrier.package import Package
from ipmicra.model.fingerprints import content_hash
from ipmicra.model.page import Link, Page, Travel, fields_by
from ipmicra.model.records import PageChanged, PageSeen, Record

_SINGLES = (
    "title",
    "description",
    "canonical",
    "language",
    "media_type",
    "charset",
)  # as strings, in this order
_single_values = attrgetter(*_SINGLES)
CARRIED = tuple(  # in fields of `PageChanged` that have the names of the page's
    name for name in fields_by(Travel.NAME, Travel.COLUMN, Travel.FLAG) if name not in _SINGLES
)
_change_values = attrgetter(*CARRIED)
_BETWEEN = "\0"  # the parts of a link
STRINGS_MAX = 200_000  # of one page
_WORTH_IT = 0.7  # a change is sent where it has at most this share of the page's characters
_STEP_CHARACTERS = 4  # that a run of taken strings costs on the way
_CHANGE_CHARACTERS = 60  # and the hashes of a change


class BaseMissing(ValueError):
    """The base of a delta is not the page that is stored here."""


def base_digest(page: Page) -> bytes:
    """The digest of a page that is sent, by which the next delta is computed."""
    return array("I", map(_mark, _strings(page))).tobytes()


def delta_of(seen: PageSeen, base_hash: bytes, base_sketch: bytes) -> PageChanged | None:
    """The delta of `seen` from the page with that hash and base digest; None if it should be sent in
    full.
    """
    page = seen.page
    strings, lines = _strings(page), page.text.count("\n") + 1
    taken, new = _difference(array("I", base_sketch).tolist(), strings)
    cost = _CHANGE_CHARACTERS + sum(map(len, new)) + _STEP_CHARACTERS * len(taken)
    if cost > _WORTH_IT * sum(map(len, strings)) or any(link.count(_BETWEEN) for link in _parts(page)):
        return None
    return PageChanged(
        url=seen.url, visit=seen.visit, fetched_at_ms=seen.fetched_at_ms, status=seen.status,
        base=base_hash, whole=_digest(strings, len(page.headings), lines), taken=taken, new=new,
        headings=len(page.headings), lines=lines, content_hash=page.content_hash,
        **dict(zip(CARRIED, _change_values(page), strict=True)),
    )  # fmt: skip


def apply_delta(change: PageChanged, base: Page | None) -> PageSeen:
    """The record as it would have been sent whole."""
    if base is None or base.content_hash != change.base:
        raise BaseMissing(
            f"{change.url} at visit {change.visit} refers to a base that is not stored here"
        )
    strings = _taken(change, _strings(base))
    if _digest(strings, change.headings, change.lines) != change.whole:
        raise BaseMissing(
            f"{change.url} at visit {change.visit} does not follow from the page that is here"
        )
    texts_at = len(_SINGLES) + change.headings
    links_at = texts_at + change.lines
    singles: dict[str, Any] = dict(zip(_SINGLES, strings, strict=False))
    text = "\n".join(strings[texts_at:links_at])
    links = [_link(string, change) for string in strings[links_at:]]
    parts = [singles["title"], singles["description"], text, *[link.url for link in links]]
    page = Page(
        url=change.url,
        text=text,
        headings=strings[len(_SINGLES) : texts_at],
        links=links,
        content_hash=content_hash(parts),
        **singles,
        **dict(zip(CARRIED, _change_values(change), strict=True)),
    )
    return PageSeen(
        url=change.url,
        visit=change.visit,
        fetched_at_ms=change.fetched_at_ms,
        page=page,
        status=change.status,
    )


def _link(string: str, change: PageChanged) -> Link:
    parts = string.split(_BETWEEN)
    if len(parts) != len(Link._fields):
        raise BaseMissing(f"{change.url} at visit {change.visit} has a link that is none")
    return Link(*parts)


def changed_urls(packages: Iterable[Package]) -> set[str]:
    return {
        record.url
        for package in packages
        for record in package.records
        if isinstance(record, PageChanged)
    }


def resolve_all(packages: Iterable[Package], urls: Container[str]) -> Iterator[Package]:
    """Packages in their order, the changes of `urls` made whole; those of a page that is not there stay."""
    known: dict[str, Page] = {}
    for package in packages:
        records: list[Record] = []
        for record in package.records:
            whole: Record = record
            if isinstance(record, PageChanged):
                with suppress(BaseMissing):
                    whole = apply_delta(record, known.get(record.url))
            if isinstance(whole, PageSeen) and whole.url in urls:
                known[whole.url] = whole.page
            records.append(whole)
        yield package._replace(records=records)


def new_links(change: PageChanged) -> Iterator[tuple[str, str]]:
    """Address and rel of the links that the page did not have before."""
    for string in change.new:
        parts = string.split(_BETWEEN)
        if len(parts) == len(Link._fields):
            yield parts[0], parts[2]


def _strings(page: Page) -> list[str]:
    links = [f"{link.url}{_BETWEEN}{link.text}{_BETWEEN}{link.rel}" for link in page.links]
    return [*_single_values(page), *page.headings, *page.text.split("\n"), *links]


def _parts(page: Page) -> Iterator[str]:
    """Every string that stands between the marks of a link, or must not look like one."""
    for link in page.links:
        yield from link
    yield page.text


def _mark(string: str) -> int:
    return zlib.crc32(string.encode("utf-8", "surrogatepass"))


def _digest(strings: Sequence[str], headings: int, lines: int) -> bytes:
    joined = "\n\0".join((str(headings), str(lines), *strings)).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(joined, digest_size=16).digest()


def _difference(base: list[int], strings: Sequence[str]) -> tuple[list[tuple[int, int]], list[str]]:
    """Runs (from where, how many); from -1 are the next of the new strings."""
    first_at: dict[int, int] = {}
    for at, mark in enumerate(base):
        first_at.setdefault(mark, at)
    taken: list[tuple[int, int]] = []
    new: list[str] = []
    start, length = -1, 0
    for string in strings:
        mark = _mark(string)
        follows = start >= 0 and start + length < len(base) and base[start + length] == mark
        at = start + length if follows else first_at.get(mark, -1)
        if follows or (at < 0 and start < 0):
            length += 1
        else:
            taken.append((start, length))
            start, length = at, 1
        if at < 0:
            new.append(string)
    return [run for run in (*taken, (start, length)) if run[1]], new


def _taken(change: PageChanged, base: Sequence[str]) -> list[str]:
    strings: list[str] = []
    new_at = 0
    for start, length in change.taken:
        source, at = (base, start) if start >= 0 else (change.new, new_at)
        if length < 1 or at + length > len(source) or len(strings) + length > STRINGS_MAX:
            raise BaseMissing(f"{change.url} at visit {change.visit} takes strings that are not there")
        strings += source[at : at + length]
        new_at += length if start < 0 else 0
    if len(strings) < len(_SINGLES) + max(change.headings, 0) + max(change.lines, 1):
        raise BaseMissing(f"{change.url} at visit {change.visit} has fewer strings than it says")
    return strings
