"""Records that cannot be read -> counted by kind, shown with file and line, and nothing else lost."""

from __future__ import annotations

import bz2
import gzip
import io
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
import zstandard

from ipmicra.registry.decompression import Readable, decompressed
from ipmicra.registry.formats import (
    ARIN_XML,
    AS_RANGES,
    DELEGATED,
    FORMATS,
    LIBLOC_ASES,
    LIBLOC_NETWORKS,
    RPSL,
    Format,
)
from ipmicra.registry.parsers import blocks as registry_blocks
from ipmicra.registry.parsers.blocks import blocks
from ipmicra.registry.parsers.parse_statistics import EXAMPLES_MAX, Tally

Reader = Callable[..., Any]

GOOD_OBJECT = b"inetnum: 192.0.2.0 - 192.0.2.255\nsource: RIPE\n\n"
GOOD_LINE = b"arin|US|ipv4|192.0.2.0|256|19910110|assigned|c3a1\n"


@pytest.mark.parametrize(
    ("form", "record", "kind"),
    [
        (RPSL, b"inetnum: 192.0.2.300 - 192.0.2.255\nsource: RIPE\n\n", "bad-address"),
        (RPSL, b"inetnum: 192.0.2.9 - 192.0.2.1\nsource: RIPE\n\n", "reversed-range"),
        (RPSL, b"inetnum: 192.0.2.9 - 2001:db8::\nsource: RIPE\n\n", "reversed-range"),
        (RPSL, b"inetnum: 192.0.2.9/24\nsource: RIPE\n\n", "host-bits"),
        (RPSL, b"inet6num: 2001:db8::/129\nsource: RIPE\n\n", "bad-prefix-length"),
        (RPSL, b"inet6num: 2001:db8::\nsource: RIPE\n\n", "bad-prefix-length"),
        (RPSL, b"inetnum:\nsource: RIPE\n\n", "no-range"),
        (RPSL, b"organisation:\norg-name: Nobody\n\n", "no-handle"),
        (RPSL, b"no attribute here\n\n", "no-attributes"),
        (DELEGATED, b"arin|US|ipv4|192.0.2|256|19910110|assigned|c3a1\n", "bad-address"),
        (DELEGATED, b"arin|US|ipv4|2001:db8::|256|19910110|assigned|c3a1\n", "bad-address"),
        (DELEGATED, b"arin|US|ipv4|192.0.2.0|0|19910110|assigned|c3a1\n", "bad-count"),
        (DELEGATED, b"arin|US|ipv4|255.255.255.0|257|19910110|assigned|c3a1\n", "bad-count"),
        (DELEGATED, b"arin|US|ipv4|192.0.2.0|many|19910110|assigned|c3a1\n", "bad-count"),
        (DELEGATED, b"arin|US|ipv6|2001:db8::|129|19910110|assigned|c3a1\n", "bad-prefix-length"),
        (DELEGATED, b"arin|US|ipv6|2001:db8::|16|19910110|assigned|c3a1\n", "host-bits"),
        (DELEGATED, b"arin|US|ipx|192.0.2.0|256|19910110|assigned|c3a1\n", "unknown-type"),
        (DELEGATED, b"arin|US|ipv4|192.0.2.0|256|19910110|borrowed|c3a1\n", "unknown-status"),
        (DELEGATED, b"arin|US|ipv4\n", "wrong-field-count"),
        (ARIN_XML, b"<net><handle>NET-1</handle></net>\n", "no-range"),
        (ARIN_XML, b"<org><name>Nobody</name></org>\n", "no-handle"),
        (ARIN_XML, b"<net><handle>NET-1</handle>\n<org><handle>A</handle></org>\n", "unclosed-element"),
        (LIBLOC_NETWORKS, b"1.0.0.0/33\t1\tAU\n", "bad-prefix-length"),
        (LIBLOC_NETWORKS, b"1.0.0.0/24\n", "wrong-field-count"),
        (LIBLOC_NETWORKS, b"1.0.0.0/24\t4294967296\tAU\n", "bad-as-number"),
        (LIBLOC_ASES, b"nothing\n", "wrong-field-count"),
        (LIBLOC_ASES, b"\tname\n", "no-handle"),
        (AS_RANGES, b"1.0.0.9,1.0.0.1,1,A\n", "reversed-range"),
        (AS_RANGES, b"1.0.0.9,1.0.0.x,1,A\n", "bad-address"),
    ],
)
def test_each_kind_is_named(read: Reader, form: Format, record: bytes, kind: str) -> None:
    tally = read(record, form=form).tally
    assert tally.malformed == {kind: 1}
    (example,) = tally.examples[kind]
    assert (example.file, example.line) == ("sample", 1)
    assert record.decode().split("\n")[0].removeprefix("<net>").removeprefix("<org>") in example.excerpt


def test_lines_are_right_deep_in_a_file_and_good_records_around_are_kept(read: Reader) -> None:
    text = b"% remark\n\n" + GOOD_OBJECT * 3 + b"inetnum: bad\nsource: RIPE\n\n" + GOOD_OBJECT
    found = read(text)
    assert len(found.allocations) == 4
    assert [example.line for example in found.tally.examples["bad-prefix-length"]] == [12]


def test_lines_are_right_across_blocks(read: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry_blocks, "BLOCK_BYTES", 64)
    text = b"# header\r\n" + GOOD_LINE * 50 + b"arin|US|ipv4\n" + GOOD_LINE * 7 + b"arin|\n"
    found = read(text, form=DELEGATED)
    assert [example.line for example in found.tally.examples["wrong-field-count"]] == [52, 60]
    assert len(found.allocations) == 57


def test_only_the_first_few_of_a_kind_are_kept(read: Reader) -> None:
    tally = read(GOOD_LINE + b"arin|US|ipv4\n" * 100).tally
    assert tally.malformed == {"wrong-field-count": 100}
    assert [example.line for example in tally.examples["wrong-field-count"]] == list(
        range(2, 2 + EXAMPLES_MAX)
    )
    assert tally.malformed_share == 100 / 101


@pytest.mark.parametrize("form", FORMATS)
def test_a_record_longer_than_any_is_counted_and_the_next_is_read(
    read: Reader, form: Format, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry_blocks, "RECORD_BYTES_MAX", 1000)
    monkeypatch.setattr(registry_blocks, "BLOCK_BYTES", 300)
    separator = form.separators[0]
    tally = read(b"x" * 5000 + separator + b"y" * 10 + separator, form=form).tally
    assert tally.malformed["too-long"] == 1
    assert tally.examples["too-long"][0].line == 1


class EndlessLine:
    """A file of one line of a gigabyte."""

    def __init__(self) -> None:
        self.left = 1 << 30
        self.piece = b"x" * registry_blocks.BLOCK_BYTES

    def read(self, size: int, /) -> bytes:
        take = min(size, self.left, len(self.piece))
        self.left -= take
        return self.piece if take == len(self.piece) else self.piece[:take]


def test_a_line_of_a_gigabyte_does_not_fill_the_memory() -> None:
    tally = Tally()
    tracemalloc.start()
    try:
        assert list(blocks(EndlessLine(), (b"\n",), "endless", tally)) == []
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert tally.malformed == {"too-long": 1}
    assert peak_bytes < 8 * registry_blocks.BLOCK_BYTES


COMPRESSIONS: list[Callable[[bytes], bytes]] = [
    bytes,
    gzip.compress,
    bz2.compress,
    zstandard.compress,
]


@pytest.mark.parametrize("compress", COMPRESSIONS)
def test_compression_is_told_by_the_first_bytes(compress: Callable[[bytes], bytes]) -> None:
    packed = compress(GOOD_LINE) + (compress(GOOD_LINE) if compress is not bytes else b"")
    contents: Readable = decompressed(io.BytesIO(packed))
    text = b"".join(block.text for block in blocks(contents, (b"\n",), "f", Tally()))
    assert text in (GOOD_LINE, GOOD_LINE * 2)


@pytest.mark.parametrize("compress", COMPRESSIONS[1:])
@pytest.mark.parametrize("spoil", [lambda packed: packed[:-20], lambda packed: packed[:40] + bytes(40)])
def test_a_damaged_file_is_counted_not_raised(
    compress: Callable[[bytes], bytes], spoil: Callable[[bytes], bytes]
) -> None:
    tally = Tally()
    packed = compress(bytes(range(256)) * 2000)
    list(blocks(decompressed(io.BytesIO(spoil(packed))), (b"\n",), "f.gz", tally))
    assert tally.malformed["damaged-file"] == 1
