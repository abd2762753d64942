"""Packages: everything arrives as it was sent, and anything that is not a package is refused."""

from __future__ import annotations

import base64
import itertools
import zlib
from pathlib import Path

import msgspec
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from ipmicra.carrier.format.column_decoder import PAGE_HEADINGS_MAX
from ipmicra.carrier.format.column_encoder import ColumnEncoder, PackageColumns
from ipmicra.carrier.format.format_v1_v2 import EarlierColumns
from ipmicra.carrier.package import (
    MAGIC,
    PackageHeader,
    PackageRefused,
    UnpackCaps,
    contents_of,
    pack,
    package_name,
    packages_in,
    unpack,
)
from ipmicra.crawler.extraction import extract
from ipmicra.model.fingerprints import content_hash
from ipmicra.model.page import Link, Page
from ipmicra.model.records import (
    FetchMeasurement,
    PageGone,
    PageMoved,
    PageSeen,
    Record,
    VisitFailed,
)

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
    FetchMeasurement(
        site="a.example", address="192.0.2.1", measured_at_ms=8, fetches=3, round_trip_us=1200,
        first_byte_ms=3.5, download_ms=1.0, body_bytes=12345, unchanged=1,
    ),
]  # fmt: skip


def by_address(records: list[Record]) -> list[Record]:
    return sorted(records, key=msgspec.msgpack.encode)


def test_what_is_packed_is_unpacked() -> None:
    header, records = unpack(pack(RECORDS, "crawler-1", 7))
    assert header == PackageHeader(
        crawler="crawler-1",
        sequence=7,
        records=len(RECORDS),
        inflated_bytes=header.inflated_bytes,
        words_bytes=header.words_bytes,
        frame_crc=header.frame_crc,
    )
    assert 0 < header.words_bytes < header.inflated_bytes
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


_ANY = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)


@st.composite
def _pages(draw: st.DrawFn) -> PageSeen:
    """Pages that no extraction gives: lines within titles, headings and links; links twice."""
    links = draw(st.lists(st.builds(Link, _ANY, _ANY, _ANY), max_size=4))
    links += draw(st.lists(st.sampled_from(links), max_size=2)) if links else []
    title, description, text = draw(_ANY), draw(_ANY), draw(_ANY)
    url = draw(_ANY)
    page = Page(
        url=url, canonical=draw(_ANY), title=title, description=description, text=text, links=links,
        headings=draw(st.lists(_ANY, max_size=3)), language=draw(_ANY), charset=draw(_ANY),
        content_hash=content_hash([title, description, text, *[link.url for link in links]]),
        published_at_s=draw(st.none() | st.integers(-(2**40), 2**40)), truncated=draw(st.booleans()),
    )  # fmt: skip
    return PageSeen(
        url=url, visit=draw(st.integers(1, 9)), fetched_at_ms=draw(st.integers(0, 2**45)), page=page
    )


@settings(max_examples=300, deadline=None)
@given(st.lists(_pages(), max_size=5))
def test_any_strings_arrive_as_they_were_sent(pages: list[PageSeen]) -> None:
    records: list[Record] = list(pages)
    assert by_address(unpack(pack(records, "c", 1)).records) == by_address(records)


FORMAT_2 = base64.b85decode(
    "X>e_6V{%~vH~;_ugr{S2VRvk0a;al-VRvk0axF2ab7gULWo~0-2d8pnV{dX~a|o_!Zf0y@bY)~;VtI6BbIk$FD77#BWXu5d3"
    "II0KN<c7YY&ywQ9Pt>cKdK@*?F2P=<p&5wpt?E4EVkw>K@t4y&9Y;MK*nx%XbtC-0#n%;p`c$ZbtMfZ;Sd{XG6g*VI{-BRp-"
    "1F<fGQ3_7ani598AE`p~wM477Eg7#z3R(0ZkQMyF#TpP0+k5ek@4V4)i>T55^k=)pILUr_AsM0R#S5RHJAs(avU~mT%R96aR"
    "+EO0iv0te1xW40;ktA5dOjka!hfq?*FlNxDcUnS7?Hsh}|gR@+Ji8O*;33(CdGgLhcKIXI4cBf+z4xgm7_^uDS4Cha%j@nR~"
    "k_Fi0_z4IezS}xI!iCS3y1C0OYd7k+)IsjN!0PBr|Sb+XxIqU8}KtepONTS6X50e#}Bv2@zERC)x-tc-_WvTH$cW2K56Cf}K"
    "LD(@nd=K^sigWJ^RocRC-)do$bsj)B*BFf>w-A>`DpH9Sct(`xlk9N<nh#;%"
)


def test_a_package_of_the_format_before_is_read() -> None:
    header, records = unpack(FORMAT_2)
    assert (header.crawler, header.sequence) == ("crawler-1", 7)
    assert by_address(records) == by_address(RECORDS)


def test_pages_of_a_site_cost_less_together_than_apart() -> None:
    pages: list[Record] = [
        seen(f"http://a.example/{number}", f"{MENU}<h1>Page {number}</h1><p>{'words ' * 50}")
        for number in range(50)
    ]
    apart = sum(len(pack([page], "c", 1)) for page in pages)
    assert len(pack(pages, "c", 1)) < apart / 5


def laid_out(records: list[Record]) -> tuple[bytes, PackageColumns]:
    """Words and columns."""
    layout, contents = ColumnEncoder(), contents_of(records)
    words = "\0".join(layout.add(page) for page in contents.pages)
    return words.encode(), layout.columns(contents.others)


WORDS, COLUMNS = laid_out(RECORDS)
HEADINGS = sum(COLUMNS.heading_counts)


def rewritten(**changes: object) -> bytes:
    """A package whose columns were tampered with, well formed otherwise."""
    return reworded(WORDS, len(WORDS), msgspec.structs.replace(COLUMNS, **changes))


def reworded(words: bytes, words_bytes: int, columns: PackageColumns = COLUMNS) -> bytes:
    return framed(words + msgspec.msgpack.encode(columns), len(RECORDS), words_bytes=words_bytes)


def earlier(**changes: object) -> bytes:
    """A package of format 2, its columns tampered with."""
    start = len(FORMAT_2) - len(FORMAT_2.partition(zstandard.FRAME_HEADER)[2]) - 4
    body = zstandard.ZstdDecompressor().decompress(FORMAT_2[start:])
    columns = msgspec.structs.replace(msgspec.msgpack.decode(body, type=EarlierColumns), **changes)
    return framed(msgspec.msgpack.encode(columns), len(RECORDS), magic=MAGIC[:-1] + b"\x02")


def framed(
    body: bytes,
    records: int = 1,
    inflated_bytes: int | None = None,
    words_bytes: int = 0,
    magic: bytes = MAGIC,
) -> bytes:
    promised_bytes = len(body) if inflated_bytes is None else inflated_bytes
    return headed(zstandard.ZstdCompressor().compress(body), records, promised_bytes, words_bytes, magic)


def headed(
    frame: bytes, records: int, inflated_bytes: int, words_bytes: int = 0, magic: bytes = MAGIC
) -> bytes:
    header = PackageHeader(
        crawler="c", sequence=1, records=records, words_bytes=words_bytes,
        inflated_bytes=inflated_bytes, frame_crc=zlib.crc32(frame),
    )  # fmt: skip
    head = msgspec.msgpack.encode(header)
    return magic + len(head).to_bytes(4, "little") + head + frame


def without_its_size(body: bytes, promised_bytes: int) -> bytes:
    """A package whose frame does not say to how much it inflates."""
    return headed(zstandard.ZstdCompressor(write_content_size=False).compress(body), 1, promised_bytes)


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
        (rewritten(visits=[1]), "promises 8 records, holds 5"),
        (rewritten(page_links=[1 << 40]), "unpacking"),
        (rewritten(page_addresses=[-1, 0, 0, 0]), "unpacking"),
        (rewritten(heading_counts=[5000, 0, 0, 0]), "unpacking"),
        (
            rewritten(link_targets=[1 << 40] * len(COLUMNS.link_targets)),
            "a position that does not exist",
        ),
        (rewritten(link_targets=[-1] * len(COLUMNS.link_targets)), "a position that does not exist"),
        (rewritten(canonicals=[99, 0, 0, 0]), "a position that does not exist"),
        (rewritten(address_shared=COLUMNS.address_shared[1:]), "texts where there should be"),
        (reworded(b"one", 3), "not as many texts as there should be, 4"),
        (reworded(b"\0\0\0", 3), "fewer lines than there should be"),
        (reworded(WORDS + b"\0" * 9, len(WORDS) + 9), "not as many texts as there should be, 4"),
        (reworded(b"\xff" + WORDS, len(WORDS) + 1), "unpacking"),
        (reworded(WORDS, len(WORDS) - 1), "unpacking"),
        (reworded(WORDS, len(WORDS) + 1), "unpacking"),
        (reworded(WORDS, -1), "bytes of words among"),
        (reworded(WORDS, 1 << 40), "bytes of words among"),
        (rewritten(flags=[16, 0, 0, 0]), "fewer words than there should be"),
        (rewritten(apart=["nobody's"]), "words that are of no page"),
        (without_its_size(b"\x00" * 50_000_000, 10), "damaged"),
        (without_its_size(b"\x00" * 10, 50_000), "does not inflate"),
        (earlier(visits=[1]), "promises 8 records, holds 5"),
        (earlier(heading_steps=[1 << 40] * HEADINGS, headings=""), "a position that does not exist"),
        (earlier(anchor_steps=[]), "unpacking"),
        (rewritten(link_rels=[99]), "unpacking"),
        (rewritten(others=[]), "promises"),
        (pack(RECORDS, "c", 1)[:-1], "damaged|does not inflate"),
    ],
    ids=itertools.count(),
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
        laid_out([])[1],
        address_shared=b"\xff" * count,
        address_rest="\0".join(["x" * 300] + ["y"] * (count - 1)),
    )
    with pytest.raises(PackageRefused, match="addresses of more than"):
        unpack(framed(msgspec.msgpack.encode(bomb), records=0))


def test_no_flipped_bit_is_taken_for_a_package() -> None:
    data = pack(RECORDS, "c", 1)
    for at, bit in itertools.product(range(len(data) - 300, len(data)), range(8)):
        damaged = bytearray(data)
        damaged[at] ^= 1 << bit
        with pytest.raises(PackageRefused):
            unpack(bytes(damaged))


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300), st.booleans())
def test_noise_is_never_taken_for_a_package(noise: bytes, well_framed: bool) -> None:
    with pytest.raises(PackageRefused):
        unpack(framed(noise, records=0) if well_framed else MAGIC + noise)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_columns_with_any_numbers_give_records_or_are_refused(data: st.DataObject) -> None:
    lists = [
        field.name
        for field in msgspec.structs.fields(PackageColumns)
        if isinstance(getattr(COLUMNS, field.name), list) and field.type == list[int]
    ]
    name = data.draw(st.sampled_from(lists))
    length = len(getattr(COLUMNS, name))
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


def test_a_page_with_more_headings_than_any_has_is_refused() -> None:
    url = "http://a.example/"
    page = Page(url=url, headings=["x"] * (PAGE_HEADINGS_MAX + 1))
    record = PageSeen(url=url, visit=1, fetched_at_ms=1, status=200, page=page)
    with pytest.raises(PackageRefused, match="headings"):
        unpack(pack([record], "c", 1))
