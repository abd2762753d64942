"""Pages, one by one -> texts and columns that compress well.

Invariant: lossless, except for values that the receiver can compute again (content hash, similarity
hash). No page stays in memory: its texts are written as they come, columns hold numbers, and each address
and link is stored once.

Similar values stand together. The texts of a page are one string: title, description, text, headings, and
the texts of links that did not occur before, one per line, so that a heading stands near the line of the
text that it repeats. An address is stored once, where it first occurs, as its difference from the one
before. A link that occurs on many pages is stored once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from ipmicra.carrier.format.field_columns import TOLD_APART, FieldEncoder, Numbers, flags_of
from ipmicra.model.page import Link
from ipmicra.model.records import PageSeen, Record

_SHARED_MAX = 255  # characters that an address shares with the one before it: a byte


class PackageColumns(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The columns of a package besides the texts. Integers that tend to grow are stored as differences.

    They are stored in this order. A new one is the last, and None in packages that were written without it.
    """

    others: Sequence[Record]  # every record that is not a page
    # Title, description, headings and new links' texts of pages where one of them has a line break.
    apart: list[str]
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
    flags: list[int]  # `FLAG_BITS` and `TOLD_APART`


class ColumnEncoder:
    """Pages, added one after the other -> their words at once, and all their columns at the end."""

    def __init__(self) -> None:
        self._fields = FieldEncoder()
        self._addresses, self._links = Numbers[str](), Numbers[Link]()
        self._address_before = ""
        self._address_shared = bytearray()
        self._address_rests: list[str] = []
        self._apart: list[str] = []
        self._link_targets: list[int] = []
        self._link_rels: list[int] = []
        self._page_links: list[int] = []
        self._page_link_counts: list[int] = []
        self._page_addresses: list[int] = []
        self._canonicals: list[int] = []
        self._heading_counts: list[int] = []
        self._visits: list[int] = []
        self._fetched_at_ms: list[int] = []
        self._statuses: list[int] = []
        self._flags: list[int] = []
        self._rels = Numbers[str]()

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
        flags = flags_of(page)
        if "\n".join(beside).count("\n") == len(beside) - 1:
            words = "\n".join((*beside[:2], page.text, *beside[2:]))
        else:
            words, flags = page.text, flags | TOLD_APART
            self._apart += beside
        self._fields.add(page)
        self._page_addresses.append(address)
        self._canonicals.append(canonical)
        self._page_link_counts.append(len(page.links))
        self._heading_counts.append(len(page.headings))
        self._visits.append(record.visit)
        self._fetched_at_ms.append(record.fetched_at_ms)
        self._statuses.append(record.status)
        self._flags.append(flags)
        return words

    def columns(self, others: Sequence[Record]) -> PackageColumns:
        return PackageColumns(
            others=others,
            apart=self._apart,
            heading_counts=self._heading_counts,
            link_targets=_differences(self._link_targets),
            link_rels=self._link_rels,
            page_links=_differences(self._page_links),
            page_link_counts=self._page_link_counts,
            address_shared=bytes(self._address_shared),
            address_rest=_joined(self._address_rests),
            page_addresses=_differences(self._page_addresses),
            canonicals=self._canonicals,
            rels=list(self._rels),
            visits=self._visits,
            fetched_at_ms=_differences(self._fetched_at_ms),
            statuses=self._statuses,
            flags=self._flags,
            **self._fields.columns(),
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
