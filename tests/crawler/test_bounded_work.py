"""What a site can make the event loop do at once takes less than 50 ms, whatever it sends.

Each case is the worst input that we know of, as large as its cap lets it be. Processor time is measured, so
that a busy machine changes little.
"""

from __future__ import annotations

import gzip
import time
import zlib
from collections.abc import Callable

import brotli  # type: ignore[import-untyped] # has no types
import pytest
import zstandard

from ipmicra.crawler.decisions import robots as robots_rules
from ipmicra.crawler.decisions.robots import ROBOTS_BYTES_MAX, parse_robots
from ipmicra.crawler.decisions.sitemaps import ELEMENTS_MAX, HEAD_BYTES_MAX, feeds_in, listing
from ipmicra.crawler.extraction import extract
from ipmicra.crawler.extraction.links import refresh_target
from ipmicra.crawler.fetching.content_decoding import BadEncoding, InflateBomb, inflate
from ipmicra.crawler.robots_file import LARGE_FILE_BYTES

STALL_SECONDS_MAX = 0.05
BODY_BYTES_MAX = 8 << 20


def seconds_of(work: Callable[[], object]) -> float:
    """The better of two runs."""
    measured = []
    for _ in range(2):
        began = time.process_time()
        work()
        measured.append(time.process_time() - began)
    return min(measured)


def page(content: str) -> bytes:
    return f'<meta http-equiv=refresh content="{content}">x'.encode()


@pytest.mark.parametrize(
    "content",
    [
        " " * 200_000 + "x",
        "1" * 100_000 + " " * 100_000,
        "0;" + " " * 200_000 + "url" + " " * 20_000 + "x",
        "0;url=" + "a" * 100_000 + " " * 100_000 + "b",
        "0;url='" + "\t" * 200_000,
    ],
    ids=["blanks", "digits", "words", "target", "quote"],
)
def test_a_refresh_that_goes_nowhere_holds_nobody_up(content: str) -> None:
    assert (
        seconds_of(lambda: extract(page(content), "text/html", "http://a.example/")) < STALL_SECONDS_MAX
    )


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("5; url=/next", "/next"),
        ("0;URL='http://b.example/x'", "http://b.example/x"),
        (' 1.5 , url = "/a" ', "/a"),
        ("url=/b", "/b"),
        ("0; url=/a b", ""),
        ("0; url=", ""),
        ("5", ""),
        ("", ""),
        ("0; /next", ""),
        ("0; url=a'b", ""),
    ],
)
def test_where_a_refresh_leads(content: str, expected: str) -> None:
    assert refresh_target(content) == expected


EMPTY_ZSTD_FRAME = zstandard.ZstdCompressor().compress(b"")
BLOCKS = EMPTY_ZSTD_FRAME[:-3]


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip, br", brotli.compress(gzip.compress(b"") * 400_000, quality=5)),
        ("gzip", gzip.compress(b"") * 400_000),
        ("gzip", gzip.compress(b"x" * 999) * 100_000),
        ("zstd", EMPTY_ZSTD_FRAME * 400_000),
        ("zstd", BLOCKS + b"\x00\x00\x00" * 2_000_000),
    ],
    ids=["members in brotli", "empty members", "members", "empty frames", "empty blocks"],
)
def test_a_body_of_many_small_parts_is_refused_at_once(coding: str, body: bytes) -> None:
    def refused() -> None:
        with pytest.raises((BadEncoding, InflateBomb)):
            inflate(body[:BODY_BYTES_MAX], coding, BODY_BYTES_MAX, 200)

    assert seconds_of(refused) < STALL_SECONDS_MAX


def test_as_many_members_as_servers_write_are_read() -> None:
    body = b"".join(gzip.compress(bytes([number % 251]) * 1_000) for number in range(200))
    made = inflate(body, "gzip", BODY_BYTES_MAX, 200)
    assert (len(made.body), made.cut) == (200_000, False)


def test_the_layers_inside_an_encoding_are_held_to_one_cap_together() -> None:
    bomb = zlib.compress(zlib.compress(bytes(3 << 20), 0), 0)
    with pytest.raises((BadEncoding, InflateBomb)):
        inflate(bomb, "deflate, deflate, deflate", bytes_max=4 << 20, ratio_max=10**9)


def test_a_small_sitemap_does_not_become_a_large_one() -> None:
    bomb = gzip.compress(b"<urlset>" + b"<a/>" * 12_000_000)
    assert len(bomb) < 60_000
    assert seconds_of(lambda: listing(bomb)) < STALL_SECONDS_MAX


def test_a_sitemap_of_more_elements_than_any_has_is_read_no_further() -> None:
    body = b"<urlset>" + b"<a/>" * (ELEMENTS_MAX + 10) + b"<url><loc>http://a.example/</loc></url>"
    assert listing(body) == []


@pytest.mark.parametrize(
    "unit",
    [b"<link application/rss+xml", b"<link ", b"<link rel=application/rss+xml href" + b" " * 900 + b">"],
    ids=["no end", "only begun", "no address"],
)
def test_feeds_are_looked_for_once(unit: bytes) -> None:
    html = (unit * HEAD_BYTES_MAX)[: HEAD_BYTES_MAX - 4] + b"+xml"
    assert seconds_of(lambda: feeds_in(html)) < STALL_SECONDS_MAX


ROBOTS = {
    "newlines": b"\n" * ROBOTS_BYTES_MAX,
    "colons": b":\n" * ROBOTS_BYTES_MAX,
    "rules": b"user-agent:*\n" + b"disallow:/*aaaabaaaa\n" * ROBOTS_BYTES_MAX,
    "escapes": b"user-agent:*\ndisallow:/" + b"%41" * ROBOTS_BYTES_MAX,
    "beyond ASCII": b"user-agent:*\ndisallow:/" + "é".encode() * ROBOTS_BYTES_MAX,
    "stars": b"user-agent:*\ndisallow:/" + b"*a" * ROBOTS_BYTES_MAX,
}


@pytest.mark.parametrize("body", ROBOTS.values(), ids=ROBOTS.keys())
def test_robots_txt_is_read_in_a_moment_or_in_a_thread(body: bytes) -> None:
    small, whole = body[: LARGE_FILE_BYTES - 1], body[:ROBOTS_BYTES_MAX]
    assert seconds_of(lambda: parse_robots(small, "ipmicra")) < STALL_SECONDS_MAX
    rules = parse_robots(whole, "ipmicra")
    for length in (10, 100, 1_000, 4_000):
        path = "/" + "a" * length
        assert seconds_of(lambda path=path: rules.allows(path)) < STALL_SECONDS_MAX  # type: ignore[misc]


def test_a_site_with_endless_rules_is_not_crawled() -> None:
    rules = b"user-agent: *\n" + b"disallow: /a\n" * (robots_rules.RULES_MAX + 1)
    assert not parse_robots(rules, "ipmicra").allows("/b")


def test_rules_that_take_too_long_to_compare_forbid() -> None:
    rules = parse_robots(b"user-agent: *\n" + b"disallow: /*" + b"x" * 400_000, "ipmicra")
    assert rules.allows("/short")
    assert not rules.allows("/" + "a" * 4_000)
