"""A page and what is remembered of the one before -> what changed; and back, on the side that has the
page.

A page is taken as a list of strings: title, description and the like, headings, lines of text, links. Of
the page that was sent before, its crawler keeps a base digest: four bytes a string. A change is the
strings that are new, and from where the others are taken.

Invariant: pure. What `restored` returns is the page to the last character, or it raises `BaseMissing`:
the base digest is too small to be sure, so a change carries a digest of the whole that it was made from.
The content hash of what it returns is computed from it, whatever the change says.
"""

from __future__ import annotations

import hashlib
import zlib
from array import array
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import suppress

from ipmicra.carrier.package import Package
from ipmicra.model.fingerprints import content_hash
from ipmicra.model.page import Link, Page
from ipmicra.model.records import PageChanged, PageSeen, Record

_SINGLES = 6  # title, description, canonical, language, media type, charset
_BETWEEN = "\0"  # the parts of a link
STRINGS_MAX = 200_000  # of one page
_WORTH_IT = 0.7  # a change is sent where it has at most this share of the page's characters
_STEP_CHARACTERS = 4  # that a run of taken strings costs on the way
_CHANGE_CHARACTERS = 60  # and the hashes of a change


class BaseMissing(ValueError):
    """The page that a change is told against is not the one that is here."""


def base_digest(page: Page) -> bytes:
    """What to keep of a page that is sent, to tell what changed in the next."""
    return array("I", map(_mark, _strings(page))).tobytes()


def delta_of(seen: PageSeen, base_hash: bytes, base_sketch: bytes) -> PageChanged | None:
    """What `seen` differs in from the page with that hash and base digest; None where it should go whole."""
    page = seen.page
    strings, lines = _strings(page), page.text.count("\n") + 1
    taken, new = _difference(array("I", base_sketch).tolist(), strings)
    cost = _CHANGE_CHARACTERS + sum(map(len, new)) + _STEP_CHARACTERS * len(taken)
    if cost > _WORTH_IT * sum(map(len, strings)) or any(link.count(_BETWEEN) for link in _parts(page)):
        return None
    return PageChanged(
        url=seen.url, visit=seen.visit, fetched_at_ms=seen.fetched_at_ms, status=seen.status,
        base=base_hash, whole=_digest(strings, len(page.headings), lines), taken=taken, new=new,
        headings=len(page.headings), lines=lines,
        published_at_s=page.published_at_s, modified_at_s=page.modified_at_s,
        content_hash=page.content_hash, robots=page.robots, body_bytes=page.body_bytes,
        truncated=page.truncated,
    )  # fmt: skip


def apply_delta(change: PageChanged, base: Page | None) -> PageSeen:
    """The record as it would have been sent whole."""
    if base is None or base.content_hash != change.base:
        raise BaseMissing(
            f"{change.url} at visit {change.visit} is told against a page that is not here"
        )
    strings = _taken(change, _strings(base))
    if _digest(strings, change.headings, change.lines) != change.whole:
        raise BaseMissing(
            f"{change.url} at visit {change.visit} does not follow from the page that is here"
        )
    texts_at = _SINGLES + change.headings
    links_at = texts_at + change.lines
    title, description, canonical, language, media_type, charset = strings[:_SINGLES]
    text = "\n".join(strings[texts_at:links_at])
    links = [_link(string, change) for string in strings[links_at:]]
    page = Page(
        url=change.url, canonical=canonical, title=title, description=description, language=language,
        text=text, headings=strings[_SINGLES:texts_at], links=links,
        published_at_s=change.published_at_s, modified_at_s=change.modified_at_s,
        content_hash=content_hash([title, description, text, *[link.url for link in links]]),
        robots=change.robots,
        media_type=media_type, charset=charset, body_bytes=change.body_bytes, truncated=change.truncated,
    )  # fmt: skip
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
    singles = (
        page.title,
        page.description,
        page.canonical,
        page.language,
        page.media_type,
        page.charset,
    )
    links = [f"{link.url}{_BETWEEN}{link.text}{_BETWEEN}{link.rel}" for link in page.links]
    return [*singles, *page.headings, *page.text.split("\n"), *links]


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
    if len(strings) < _SINGLES + max(change.headings, 0) + max(change.lines, 1):
        raise BaseMissing(f"{change.url} at visit {change.visit} has fewer strings than it says")
    return strings
