"""What a site can make the event loop do at once takes less than 50 ms, whatever it sends.

Each case is the worst input that we know of, as large as its cap lets it be: `tests/hostile/worst_inputs.py`.
Processor time of the thread is measured, the best of a few runs, so that a busy machine changes little.
"""

from __future__ import annotations

import asyncio
import gzip
import threading
import zlib

import pytest
import zstandard

from ipmicra.crawler import robots_file
from ipmicra.crawler.decisions import robots as robots_rules
from ipmicra.crawler.decisions.politeness import PolitenessClock
from ipmicra.crawler.decisions.robots import Robots, parse_robots
from ipmicra.crawler.decisions.sitemaps import (
    ELEMENTS_MAX,
    NAMES_MAX,
    ListingBomb,
    listing,
)
from ipmicra.crawler.extraction import extract
from ipmicra.crawler.extraction.links import refresh_target
from ipmicra.crawler.fetching.content_decoding import BadEncoding, InflateBomb, inflate
from ipmicra.crawler.frontier.entries import FrontierSite
from ipmicra.crawler.robots_file import LARGE_FILE_BYTES, robots_of
from ipmicra.model.urls import Site
from tests.hostile.worst_inputs import (
    BODY_BYTES_MAX,
    FOREIGN_INPUTS,
    STACKS,
    Case,
    ForeignInput,
    seconds_of,
)

STALL_SECONDS_MAX = 0.05
RUNS_MAX = 4


def is_quick(case: Case) -> bool:
    """Whether one of a few runs is: others may have taken the processor's caches during the rest."""
    return any(case() < STALL_SECONDS_MAX for _ in range(RUNS_MAX))


@pytest.mark.parametrize("foreign", FOREIGN_INPUTS, ids=[foreign.what for foreign in FOREIGN_INPUTS])
def test_nothing_that_a_site_sends_holds_up_the_loop(foreign: ForeignInput) -> None:
    slow = [name for name, case in foreign.cases.items() if not is_quick(case)]
    assert not slow, f"{foreign.what}, {foreign.cap}"


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
    assert is_quick(lambda: seconds_of(lambda: extract(page(content), "text/html", "http://a.example/")))


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


@pytest.mark.parametrize("name", ["members in brotli", "members", "empty frames", "empty blocks"])
def test_a_body_of_many_small_parts_is_refused_at_once(name: str) -> None:
    make, coding = STACKS[name]
    body = make()[:BODY_BYTES_MAX]

    def refused() -> None:
        with pytest.raises((BadEncoding, InflateBomb)):
            inflate(body, coding, BODY_BYTES_MAX, 200)

    assert is_quick(lambda: seconds_of(refused))


def test_as_many_members_as_servers_write_are_read() -> None:
    body = b"".join(gzip.compress(bytes([number % 251]) * 1_000) for number in range(200))
    made = inflate(body, "gzip", BODY_BYTES_MAX, 200)
    assert (len(made.body), made.cut) == (200_000, False)


def test_the_layers_inside_an_encoding_are_held_to_one_cap_together() -> None:
    bomb = zlib.compress(zlib.compress(bytes(3 << 20), 0), 0)
    with pytest.raises((BadEncoding, InflateBomb)):
        inflate(bomb, "deflate, deflate, deflate", bytes_max=4 << 20, ratio_max=10**9)


def test_a_small_sitemap_does_not_become_a_large_one() -> None:
    bomb = gzip.compress(b"<urlset><url><loc>" + b"a" * (20 << 20))
    assert len(bomb) < 100_000
    with pytest.raises(ListingBomb):
        listing(bomb)


def test_the_ratio_of_a_sitemap_is_taken_over_all_layers_together() -> None:
    """A `.gz` that is sent gzipped once more: each layer alone inflates little enough."""
    entries = b"".join(b"<url><loc>http://a.example/%d</loc></url>" % n for n in range(20_000))
    body = gzip.compress(b"<urlset>" + entries)
    assert listing(body, wire_bytes=len(body)) is not None
    with pytest.raises(ListingBomb):
        listing(body, wire_bytes=len(entries) // 300)


def test_a_sitemap_of_more_names_than_any_has_is_read_no_further() -> None:
    names = b"".join(b"<a%d/>" % number for number in range(NAMES_MAX + 1))
    assert listing(b"<urlset>" + names + b"<url><loc>http://a.example/</loc></url></urlset>") == []


def test_a_sitemap_of_more_elements_than_any_has_is_read_no_further() -> None:
    body = b"<urlset>" + b"<a/>" * (ELEMENTS_MAX + 10) + b"<url><loc>http://a.example/</loc></url>"
    assert listing(body) == []


def test_a_site_with_endless_rules_is_not_crawled() -> None:
    rules = b"user-agent: *\n" + b"disallow: /a\n" * (robots_rules.RULES_MAX + 1)
    assert not parse_robots(rules, "ipmicra").allows("/b")


def test_rules_that_take_too_long_to_compare_forbid() -> None:
    rules = parse_robots(b"user-agent: *\n" + b"disallow: /*" + b"x" * 400_000, "ipmicra")
    assert rules.allows("/short")
    assert not rules.allows("/" + "a" * 4_000)


def test_layers_that_hold_more_than_the_cap_are_refused_though_nothing_is_compressed() -> None:
    random = b"".join(bytes([number * 7919 % 251]) for number in range(1 << 16))
    nested = zlib.compress(zlib.compress(random, 0), 0)
    with pytest.raises(BadEncoding, match="the layers inside"):
        inflate(nested, "deflate, deflate", bytes_max=1 << 15, ratio_max=1_000)


def test_a_zstd_frame_that_wants_a_large_window_is_refused() -> None:
    parameters = zstandard.ZstdCompressionParameters.from_level(3, window_log=27)
    frame = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    body = frame.compress(bytes(1 << 20)) + frame.flush()
    with pytest.raises(BadEncoding):
        inflate(body, "zstd", bytes_max=4 << 20, ratio_max=10**9)


def test_a_large_robots_txt_is_read_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    readers = []

    def remember(site: FrontierSite, product: str) -> Robots:
        readers.append(threading.current_thread())
        return robots_of(site, product)

    monkeypatch.setattr(robots_file, "robots_of", remember)
    for length in (100, LARGE_FILE_BYTES):
        site = FrontierSite(1, Site("http://a.example"), PolitenessClock())
        site.robots_status, site.robots_body = 200, b"#" * length
        asyncio.run(robots_file.read_robots(site, "ipmicra"))
    assert [reader is threading.main_thread() for reader in readers] == [True, False]
