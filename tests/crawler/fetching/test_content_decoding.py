"""Inflating gives back what went in, and never more than the cap."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib
from collections.abc import Callable

import brotli  # type: ignore[import-untyped] # has no types
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from ipmicra.crawler.fetching.content_decoding import BadEncoding, InflateBomb, inflate

CODINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": lambda body: bytes(brotli.compress(body, quality=5)),
    "zstd": zstandard.ZstdCompressor().compress,
}
bodies = st.one_of(
    st.binary(max_size=3000), st.integers(1, 40).map(lambda count: b"<p>a page</p>" * count)
)


@given(bodies, st.lists(st.sampled_from(sorted(CODINGS)), max_size=3))
def test_what_goes_in_comes_out(body: bytes, codings: list[str]) -> None:
    packed = body
    for coding in codings:
        packed = CODINGS[coding](packed)
    made = inflate(packed, ", ".join(codings), bytes_max=10_000, ratio_max=200)
    assert made == (body, False)


@given(st.integers(1, 5000), st.integers(1, 5000), st.sampled_from(sorted(CODINGS)))
def test_a_body_is_cut_exactly_at_the_cap(length: int, cap: int, coding: str) -> None:
    body = (bytes(range(256)) * 20)[:length]
    made = inflate(CODINGS[coding](body), coding, cap, ratio_max=10**9)
    assert made.body == body[:cap]
    assert made.cut is (length > cap)


@given(st.binary(min_size=1, max_size=400), st.sampled_from(sorted(CODINGS)))
def test_garbage_is_refused_or_inflates_within_the_cap(garbage: bytes, coding: str) -> None:
    try:
        made = inflate(garbage, coding, bytes_max=1000, ratio_max=200)
    except (BadEncoding, InflateBomb):
        return
    assert len(made.body) <= 1000


@given(st.sampled_from(sorted(CODINGS)), st.integers(1, 60))
def test_a_stream_cut_short_says_so(coding: str, missing: int) -> None:
    body = bytes(zlib.crc32(bytes([number % 251, number // 251])) & 0xFF for number in range(4000))
    packed = CODINGS[coding](body)
    try:
        made = inflate(packed[:-missing], coding, bytes_max=10_000, ratio_max=200)
    except BadEncoding:
        return
    assert made.cut
    assert body.startswith(made.body)


@pytest.mark.parametrize("coding", sorted(CODINGS))
@pytest.mark.parametrize("layers", [1, 2])
def test_a_bomb_is_told_from_a_long_page_and_costs_no_more_than_the_cap(
    coding: str, layers: int
) -> None:
    bomb = bytes(16 << 20)
    for _ in range(layers):
        bomb = CODINGS[coding](bomb)
    tracemalloc.start()
    with pytest.raises(InflateBomb):
        inflate(bomb, ",".join([coding] * layers), bytes_max=1 << 20, ratio_max=200)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 4 << 20


@pytest.mark.parametrize("coding", sorted(CODINGS))
def test_a_long_page_is_only_cut(coding: str) -> None:
    rows = b"".join(b"<tr><td>%d<td>%d</tr>" % (n, zlib.crc32(b"%d" % n)) for n in range(50_000))
    made = inflate(CODINGS[coding](rows), coding, bytes_max=1 << 20, ratio_max=200)
    assert (len(made.body), made.cut) == (1 << 20, True)


@pytest.mark.parametrize("coding", ["", "identity", " , ", "IDENTITY"])
def test_no_coding_is_no_work(coding: str) -> None:
    assert inflate(b"<p>", coding, 100, 200) == (b"<p>", False)
