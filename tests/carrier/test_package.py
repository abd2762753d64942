"""Packages: everything arrives as it was sent, and what is no package is refused."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from ipmicra.carrier.layout import Columns, encoded_columns
from ipmicra.carrier.package import (
    MAGIC,
    Header,
    PackageRefused,
    UnpackCaps,
    pack,
    package_name,
    packages_in,
    unpack,
)
from ipmicra.carrier.record import Measurement, PageGone, PageMoved, PageSeen, Record, VisitFailed
from ipmicra.crawler.extraction import extract

MENU = '<nav><a href="/">Home</a> <a href="/about" rel="nofollow">About</a></nav>'


def seen(url: str, markup: str, visit: int = 1) -> PageSeen:
    page = extract(markup.encode(), "text/html", url, robots_header="nosnippet" if visit > 1 else "")
    return PageSeen(url=url, visit=visit, fetched_at_ms=1_700_000_000_000 + visit, page=page, status=200)


RECORDS: list[Record] = [
    seen("http://a.example/", f"<title>A</title>{MENU}<h1>Hello</h1><p>Text</p><a href=x>Hello</a>"),
    seen("http://b.example/", '<html lang=fr><link rel=canonical href="/c"><h2>Dé<br>jà</h2><p>vu</p>', 2),
    seen("http://a.example/y?q=1", f"{MENU}<h1>Same</h1><p>Same</p><h2>Same</h2><h2></h2>"),
    seen("http://a.example/x", ""),
    PageGone(url="http://a.example/gone", visit=3, fetched_at_ms=5, status=410),
    PageMoved(url="http://a.example/m", visit=1, fetched_at_ms=6, target="http://c.example/", status=301),
    VisitFailed(url="http://a.example/f", visit=1, fetched_at_ms=7, kind="timeout", detail="after 10 s"),
    Measurement(
        site="a.example", address="192.0.2.1", measured_at_ms=8, fetches=3, round_trip_us=1200,
        first_byte_ms=3.5, download_ms=1.0, body_bytes=12345, unchanged=1,
    ),
]  # fmt: skip


def by_address(records: list[Record]) -> list[Record]:
    return sorted(records, key=msgspec.msgpack.encode)


def test_what_is_packed_is_unpacked() -> None:
    header, records = unpack(pack(RECORDS, "crawler-1", 7))
    assert header == Header(
        crawler="crawler-1", sequence=7, records=len(RECORDS), inflated_bytes=header.inflated_bytes
    )
    assert by_address(records) == by_address(RECORDS)


def test_the_same_records_make_the_same_package() -> None:
    assert pack(RECORDS, "crawler-1", 7) == pack(RECORDS, "crawler-1", 7)
    assert pack([], "crawler-1", 1) == pack([], "crawler-1", 1)
    assert unpack(pack([], "crawler-1", 1)).records == []


_TEXT = st.text(max_size=40)
_MARKUP = st.lists(
    st.tuples(st.sampled_from(["p", "h1", "h2", "li", "title"]), _TEXT)
    | st.tuples(st.sampled_from(["x", "/y", "http://o.example/", "?q=é", "x/y/z"]), _TEXT),
    max_size=12,
).map(
    lambda parts: "".join(
        f"<{name}>{text}</{name}>" if name.isalnum() and name != "x" else f'<a href="{name}">{text}</a>'
        for name, text in parts
    )
)


@settings(max_examples=150, deadline=None)
@given(st.lists(_MARKUP, max_size=6))
def test_any_pages_arrive_as_they_were_sent(markups: list[str]) -> None:
    records: list[Record] = [
        seen(f"http://s{n % 3}.example/{n}", markup) for n, markup in enumerate(markups)
    ]
    assert by_address(unpack(pack(records, "c", 1)).records) == by_address(records)


def test_pages_of_a_site_cost_less_together_than_apart() -> None:
    pages: list[Record] = [
        seen(f"http://a.example/{number}", f"{MENU}<h1>Page {number}</h1><p>{'words ' * 50}")
        for number in range(50)
    ]
    apart = sum(len(pack([page], "c", 1)) for page in pages)
    assert len(pack(pages, "c", 1)) < apart / 5


def columns_of(records: list[Record]) -> Columns:
    """As they are encoded, and as long as they are said to be."""
    encoded = encoded_columns(records)
    body = b"".join(encoded.pieces)
    assert len(body) == encoded.length
    return msgspec.msgpack.decode(body, type=Columns)


def rewritten(**changes: object) -> bytes:
    """A package whose columns were tampered with, well formed otherwise."""
    body = msgspec.msgpack.encode(msgspec.structs.replace(columns_of(RECORDS), **changes))
    return framed(body, records=len(RECORDS))


def framed(body: bytes, records: int = 1, inflated_bytes: int | None = None) -> bytes:
    header = Header(
        crawler="c", sequence=1, records=records,
        inflated_bytes=len(body) if inflated_bytes is None else inflated_bytes,
    )  # fmt: skip
    head = msgspec.msgpack.encode(header)
    return MAGIC + len(head).to_bytes(4, "little") + head + zstandard.ZstdCompressor().compress(body)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "does not begin like one"),
        (b"PK\x03\x04 something else", "does not begin like one"),
        (MAGIC[:-1] + b"\x09" + b"rest", "format 9"),
        (MAGIC + b"\x01", "ends within its header"),
        (MAGIC + b"\xff\xff\xff\xff", "impossible length"),
        (framed(b"\xc0", records=1_000_000), "at most 100000 and"),
        (framed(b"\xc0", inflated_bytes=1 << 40), "at most 100000 and"),
        (framed(b"\x00" * 50_000_000, inflated_bytes=10), "does not inflate"),
        (framed(b"\x91" * 100_000, records=1), "unpacking"),
        (rewritten(visits=[1]), "unpacking"),
        (rewritten(page_links=[1 << 40]), "unpacking"),
        (rewritten(page_addresses=[-1, 0, 0, 0]), "unpacking"),
        (rewritten(heading_counts=[5000, 0, 0, 0]), "unpacking"),
        (rewritten(titles="one"), "unpacking"),
        (rewritten(link_rels=[99]), "unpacking"),
        (rewritten(others=[]), "promises"),
        (pack(RECORDS, "c", 1)[:-1], "damaged|does not inflate"),
    ],
    ids=range(17),
)
def test_a_damaged_or_foreign_package_is_refused_with_its_reason(data: bytes, reason: str) -> None:
    with pytest.raises(PackageRefused, match=reason):
        unpack(data)


def test_a_package_beyond_the_caps_is_refused() -> None:
    data = pack(RECORDS, "c", 1)
    with pytest.raises(PackageRefused, match="at most 10 are taken"):
        unpack(data, UnpackCaps(package_bytes_max=10))
    with pytest.raises(PackageRefused, match="at most 1 and"):
        unpack(data, UnpackCaps(records_max=1))


def test_addresses_that_grow_from_each_other_without_end_are_refused() -> None:
    count = 600_000
    bomb = msgspec.structs.replace(
        columns_of([]),
        address_shared=b"\xff" * count,
        address_rest="\0".join(["x" * 300] + ["y"] * (count - 1)),
    )
    with pytest.raises(PackageRefused, match="addresses of more than"):
        unpack(framed(msgspec.msgpack.encode(bomb), records=0))


def test_no_flipped_bit_is_taken_for_a_package() -> None:
    data = pack(RECORDS, "c", 1)
    dice = random.Random(4)
    body_from = len(data) - 200
    for _ in range(300):
        at = dice.randrange(body_from, len(data))
        damaged = bytearray(data)
        damaged[at] ^= 1 << dice.randrange(8)
        with pytest.raises(PackageRefused):
            unpack(bytes(damaged))


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300), st.booleans())
def test_any_bytes_are_a_package_or_are_refused(noise: bytes, well_framed: bool) -> None:
    try:
        unpack(framed(noise, records=0) if well_framed else MAGIC + noise)
    except PackageRefused:
        return
    raise AssertionError("noise was taken for a package")


_COLUMNS = columns_of(RECORDS)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_columns_with_any_numbers_give_records_or_are_refused(data: st.DataObject) -> None:
    lists = [
        field.name
        for field in msgspec.structs.fields(Columns)
        if isinstance(getattr(_COLUMNS, field.name), list) and field.type == list[int]
    ]
    name = data.draw(st.sampled_from(lists))
    length = len(getattr(_COLUMNS, name))
    numbers = data.draw(st.lists(st.integers(-3, 70_000), min_size=length, max_size=length))
    try:
        records = unpack(rewritten(**{name: numbers})).records
    except PackageRefused:
        return
    assert len(records) == len(RECORDS)


def test_a_file_that_is_not_named_like_a_package_is_somebody_else_s(tmp_path: Path) -> None:
    name = package_name(7, "ab" * 32)
    for other in (name, "9x-1.package", "readme.package", "7-copy", ".0000000007-ab.package.unfinished"):
        (tmp_path / other).touch()
    assert [package.path.name for package in packages_in(tmp_path)] == [name]
