"""Sitemaps and feeds: what they name, and what hostile ones cost."""

from __future__ import annotations

import pytest

from ipmicra.crawler.decisions.sitemaps import (
    ENTRIES_MAX,
    SitemapEntry,
    feeds_in,
    listing,
    looks_like_listing,
    seconds_of_date,
)

SITEMAP = b"""<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
        xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
  <url><loc> http://e.org/a?x=1&amp;y=2 </loc><lastmod>2026-11-01</lastmod><changefreq>Daily</changefreq>
       <image:image><image:loc>http://e.org/a.png</image:loc></image:image></url>
  <url><loc>http://e.org/b</loc></url>
  <url></url>
</urlset>"""
INDEX = b"<sitemapindex><sitemap><loc>http://e.org/s1.xml.gz</loc></sitemap></sitemapindex>"
RSS = b"""<rss version="2.0"><channel><link>http://e.org/</link>
  <item><title>x</title><link>http://e.org/1</link><pubDate>Sun, 01 Nov 2026 00:00:00 GMT</pubDate></item>
</channel></rss>"""
ATOM = b"""<feed xmlns="http://www.w3.org/2005/Atom"><link href="http://e.org/"/>
  <entry><link rel="edit" href="/edit"/><link href="/1"/><updated>2026-11-01T00:00:00Z</updated></entry>
</feed>"""
NOVEMBER = 1_793_491_200


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            SITEMAP,
            [SitemapEntry("http://e.org/a?x=1&y=2", NOVEMBER, 86_400), SitemapEntry("http://e.org/b")],
        ),
        (INDEX, [SitemapEntry("http://e.org/s1.xml.gz")]),
        (RSS, [SitemapEntry("http://e.org/1", NOVEMBER)]),
        (ATOM, [SitemapEntry("/1", NOVEMBER)]),
    ],
    ids=["sitemap", "index", "rss", "atom"],
)
def test_listings(body: bytes, expected: list[SitemapEntry]) -> None:
    assert looks_like_listing(body)
    assert listing(body) == expected


def test_a_plain_text_sitemap_is_one_address_a_line() -> None:
    body = b"\xef\xbb\xbfhttp://e.org/1\r\n\r\n HTTPS://e.org/2 \nhttp://e.org/\xc3\xa9\n"
    wanted = [
        SitemapEntry("http://e.org/1"),
        SitemapEntry("HTTPS://e.org/2"),
        SitemapEntry("http://e.org/é"),
    ]
    assert listing(body) == wanted
    assert len(listing(b"http://e.org/\n" * (ENTRIES_MAX + 9)) or []) == ENTRIES_MAX


@pytest.mark.parametrize(
    "body", [b"", b"words", b"http://e.org/ is nice", b"http://e.org/\nwords", b"<a>http://e.org/"]
)
def test_other_text_is_no_sitemap(body: bytes) -> None:
    assert listing(body) is None


@pytest.mark.parametrize(
    "body", [b"", b"<html><p>feed", b"plain text", b"\x00\xff", b"<svg><url/></svg>"]
)
def test_other_things_are_no_listings(body: bytes) -> None:
    assert not looks_like_listing(body)
    assert listing(body) is None


def test_what_comes_before_a_fault_counts() -> None:
    assert listing(SITEMAP[: SITEMAP.index(b"<url></url>")]) == listing(SITEMAP)


def test_entities_do_not_expand() -> None:
    bomb = (
        b'<!DOCTYPE a [<!ENTITY x "y"><!ENTITY z "&x;&x;">]><urlset><url><loc>&z;</loc></url></urlset>'
    )
    assert listing(bomb) == []


@pytest.mark.parametrize("encoding", ["no-such-encoding", "rot13", "hex", "utf-7", "undefined", "idna"])
def test_an_encoding_that_nobody_reads_is_a_fault_like_any_other(encoding: str) -> None:
    assert listing(f'<?xml version="1.0" encoding="{encoding}"?>'.encode() + INDEX) == []


def test_a_listing_without_end_is_cut() -> None:
    body = b"<urlset>" + b"<url><loc>/x</loc></url>" * (ENTRIES_MAX + 10)
    assert len(listing(body) or []) == ENTRIES_MAX


@pytest.mark.parametrize(
    "text",
    ["2026-11-01", "2026-11-01T00:00Z", "2026-11-01T01:00:00+01:00", "Sun, 01 Nov 2026 00:00:00 GMT"],
)
def test_dates(text: str) -> None:
    assert seconds_of_date(text) == NOVEMBER


@pytest.mark.parametrize("text", ["", "yesterday", "2026-99-99"])
def test_what_is_no_date(text: str) -> None:
    assert seconds_of_date(text) is None


def test_feeds_announced_in_a_head_are_found() -> None:
    head = b"""<link rel="stylesheet" href="/s.css"><LINK href='/feed?a&amp;b' rel=alternate
        type="application/rss+xml"><link rel=alternate type=application/atom+xml href=/atom>"""
    assert feeds_in(head) == [SitemapEntry("/feed?a&b"), SitemapEntry("/atom")]
    assert feeds_in(b"<link rel=stylesheet href=/s.css>") == []
