"""Records -> columns that compress well, and back.

Law: lossless, but for what the receiver can compute again (content hash, similarity hash). Whatever the
columns say, `records_of` returns records or raises ValueError, and makes no string longer than the
columns hold: a link's index shares a string, it does not copy one.

Like stands by like: all texts together, all addresses together, pages by site. An address is kept once,
where it first occurs, as what it does not share with the one before. A link that occurs on many pages is
kept once. A heading or a link's text that is a line of its page's text is the way to that line.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import msgspec

from ipmicra.carrier.record import PageSeen, Record
from ipmicra.crawler.extraction.page import Link, Page

_ARRAY_16 = struct.Struct(">BH")  # MessagePack's head of an array
_STR_32 = struct.Struct(">BI")  # and of a long string
_PIECE_BYTES = 1 << 20
_SHARED_MAX = 255  # characters that an address shares with the one before it: a byte

_encode = msgspec.msgpack.Encoder().encode


class Columns(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The body of a package. Integers that tend to grow are kept as differences."""

    others: list[Record]  # everything that is no page
    texts: str  # joined by NUL, as all strings here
    titles: str
    descriptions: str
    headings: str  # those that are no line of their page's text
    heading_steps: list[int]  # lines on from the one before, see `_Lines`
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
    flags: list[int]  # noindex 1, nofollow 2, nosnippet 4, truncated 8


class Encoded(NamedTuple):
    """Columns as MessagePack, in pieces: the whole would be most of a crawler's memory."""

    length: int
    pieces: Iterable[bytes]


def encoded_columns(records: Sequence[Record]) -> Encoded:
    """Pages are sorted by site and address."""
    seen = sorted((record for record in records if isinstance(record, PageSeen)), key=_by_site)
    columns = _columns_but_texts(
        seen, [record for record in records if not isinstance(record, PageSeen)]
    )
    texts = [record.page.text.replace("\0", "\ufffd") for record in seen]
    texts_bytes = sum(map(_encoded_length, texts)) + max(len(texts) - 1, 0)
    others, _, *rest = (_encode(getattr(columns, name)) for name in Columns.__struct_fields__)
    head = _ARRAY_16.pack(0xDC, len(rest) + 2) + others + _STR_32.pack(0xDB, texts_bytes)
    tail = b"".join(rest)
    return Encoded(len(head) + texts_bytes + len(tail), chain([head], _joined_in_pieces(texts), [tail]))


def _columns_but_texts(seen: Sequence[PageSeen], others: list[Record]) -> Columns:
    pages = [record.page for record in seen]
    at = _distinct(address for page in pages for address in _addresses(page))
    link_at = {link: position for position, link in enumerate(dict.fromkeys(_links(pages)))}
    rels, languages = _distinct(link.rel for link in link_at), _distinct(page.language for page in pages)
    media_types, charsets = (
        _distinct(page.media_type for page in pages),
        _distinct(page.charset for page in pages),
    )
    headings, anchors = _Lines(), _Lines()
    known = 0
    for page in pages:
        new = [link.text for link in page.links if link_at[link] >= known]
        line_at = _places(page.text) if page.headings or new else {}
        headings.add(line_at, page.headings)
        anchors.add(line_at, new)
        known += len(new)
    shared, rest = _front_coded(list(at))
    return Columns(
        others=others,
        texts="",
        titles=_joined([page.title for page in pages]),
        descriptions=_joined([page.description for page in pages]),
        headings=_joined(headings.explicit),
        heading_steps=headings.steps,
        heading_counts=[len(page.headings) for page in pages],
        anchors=_joined(anchors.explicit),
        anchor_steps=anchors.steps,
        link_targets=_differences([at[link.url] for link in link_at]),
        link_rels=[rels[link.rel] for link in link_at],
        page_links=_differences([link_at[link] for page in pages for link in page.links]),
        page_link_counts=[len(page.links) for page in pages],
        address_shared=shared,
        address_rest=rest,
        page_addresses=_differences([at[page.url] for page in pages]),
        canonicals=[at[page.canonical] + 1 if page.canonical else 0 for page in pages],
        rels=list(rels),
        languages=list(languages),
        media_types=list(media_types),
        charsets=list(charsets),
        page_languages=[languages[page.language] for page in pages],
        page_media_types=[media_types[page.media_type] for page in pages],
        page_charsets=[charsets[page.charset] for page in pages],
        visits=[record.visit for record in seen],
        fetched_at_ms=_differences([record.fetched_at_ms for record in seen]),
        statuses=[record.status for record in seen],
        body_bytes=[page.body_bytes for page in pages],
        published_at_s=[page.published_at_s for page in pages],
        modified_at_s=[page.modified_at_s for page in pages],
        flags=[_flags(page) for page in pages],
    )


def _by_site(record: PageSeen) -> tuple[list[str], str, int]:
    """Names from their right end: a country's and a domain's sites stand together."""
    name, _, path = record.url.partition("//")[2].partition("/")
    return name.split(".")[::-1], path, record.visit


def _addresses(page: Page) -> Iterable[str]:
    yield page.url
    if page.canonical:
        yield page.canonical
    for link in page.links:
        yield link.url


def _places(text: str) -> dict[str, int]:
    """The lines of a text -> the number of the last such line."""
    lines = text.split("\n")
    return dict(zip(lines, range(len(lines)), strict=True))


def _links(pages: Iterable[Page]) -> Iterable[Link]:
    return (link for page in pages for link in page.links)


def _distinct(values: Iterable[str]) -> dict[str, int]:
    return {value: position for position, value in enumerate(dict.fromkeys(values))}


def _joined(texts: Sequence[str]) -> str:
    joined = "\0".join(texts)
    if joined.count("\0") != max(len(texts) - 1, 0):
        return "\0".join(text.replace("\0", "\ufffd") for text in texts)
    return joined


def _encoded_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _joined_in_pieces(texts: Sequence[str]) -> Iterator[bytes]:
    """All texts, joined by NUL, about a megabyte at a time."""
    piece, size = list[bytes](), 0
    for at, text in enumerate(texts):
        piece.append((f"\0{text}" if at else text).encode())
        size += len(piece[-1])
        if size >= _PIECE_BYTES:
            yield b"".join(piece)
            piece, size = [], 0
    yield b"".join(piece)


def _differences(values: Sequence[int]) -> list[int]:
    return [value - before for before, value in zip([0, *values], values, strict=False)]


def _front_coded(addresses: Sequence[str]) -> tuple[bytes, str]:
    shared = bytearray()
    rest: list[str] = []
    before = ""
    for address in addresses:
        length = _shared_length(before, address)
        shared.append(length)
        rest.append(address[length:])
        before = address
    return bytes(shared), _joined(rest)


def _shared_length(one: str, other: str) -> int:
    """How many characters both begin with: where their bytes, as two large numbers, first differ."""
    length = min(len(one), len(other), _SHARED_MAX)
    if not (one.isascii() and other.isascii()):
        pairs = zip(one[:length], other[:length], strict=True)
        return next((at for at, (left, right) in enumerate(pairs) if left != right), length)
    ours, theirs = one[:length].encode(), other[:length].encode()
    difference = int.from_bytes(ours, "big") ^ int.from_bytes(theirs, "big")
    return length - (difference.bit_length() + 7) // 8


class _Lines:
    """Strings that tend to be lines of a text -> steps from line to line, and those that are none.

    A step on is positive; one back, or to the same line, is one less than it is; 0 is no line.
    """

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.explicit: list[str] = []

    def add(self, line_at: Mapping[str, int], strings: Iterable[str]) -> None:
        before = -1
        for string in strings:
            number = line_at.get(string) if string else None
            if number is None:
                self.explicit.append(string)
                self.steps.append(0)
            else:
                step = number - before
                self.steps.append(step if step > 0 else step - 1)
                before = number


def _flags(page: Page) -> int:
    robots = page.robots
    return robots.noindex | robots.nofollow << 1 | robots.nosnippet << 2 | page.truncated << 3
