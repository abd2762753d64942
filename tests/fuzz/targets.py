"""The parsers of foreign bytes, each as a function of bytes.

Invariant: a target does what the program does with such bytes, and demands of the result what the next step
relies on.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import hashlib
import hmac
import io
import ipaddress
import socket
import tempfile
import zlib
from functools import cache
from pathlib import Path

import brotli  # type: ignore[import-untyped] # has no types
import msgspec
import zstandard
from warcio.archiveiterator import ArchiveIterator

from ipmicra.carrier.package import PackageRefused, pack, unpack
from ipmicra.carrier.warc import WarcWriter
from ipmicra.coordinator.api.authentication import read as read_body
from ipmicra.coordinator.store.hosts import HostRefused
from ipmicra.crawler.decisions.robots import parse_robots
from ipmicra.crawler.decisions.sitemaps import feeds_in, listing
from ipmicra.crawler.extraction import extract
from ipmicra.crawler.extraction.charset import as_utf8
from ipmicra.crawler.extraction.markup import READERS, read
from ipmicra.crawler.fetching.content_decoding import BadEncoding, InflateBomb, inflate
from ipmicra.crawler.fetching.http1 import Http1Connection
from ipmicra.crawler.fetching.http2 import Http2Connection
from ipmicra.crawler.fetching.http_connection import HttpConnection, Wire
from ipmicra.crawler.fetching.partial_response import PartialResponse, ResponseCaps
from ipmicra.crawler.frontier import DiscoveredUrl, Frontier
from ipmicra.errors import HostFault, PeerFault
from ipmicra.host.site_state_file import chunks_in, write_state
from ipmicra.model.fetches import FetchRequest
from ipmicra.model.ids import SiteEpoch
from ipmicra.model.page import Page
from ipmicra.model.records import PageGone, PageSeen
from ipmicra.model.urls import Site, url_at
from ipmicra.net.target import HttpTarget
from ipmicra.protocol import bundle_format
from ipmicra.protocol.host_messages import Heartbeat
from ipmicra.protocol.overlay_frames import MAC_BYTES, FrameCodec, length_of
from ipmicra.protocol.overlay_rpc import SubmitSite
from ipmicra.registry.decompression import DAMAGE, decompressed
from ipmicra.registry.files import read_stream
from ipmicra.registry.formats import FORMATS
from ipmicra.registry.parsers.accumulator import Accumulator
from ipmicra.registry.sample_world import sample_folder
from ipmicra.search.query.query_parser import parse_query
from tests.fuzz.oracle import FuzzTarget

URL = "http://site.example/folder/page.html"
SOCKETS = socket.socketpair()  # what connections in memory say that they are made of
TYPES = ("text/html", "text/html; charset=utf-16", "text/html; charset=x-sjis", "text/html; charset=gbk")
CODINGS = ("gzip", "deflate", "br", "zstd", "gzip, br", "deflate, deflate, gzip", "zstd, gzip")
BODY_BYTES_MAX = 1 << 20

HTML = (
    b"<!doctype html><html lang=en><head><title>A page</title><meta charset=utf-8><base href='/x/'>"
    b"<meta name=description content='of words'><meta http-equiv=refresh content='0; url=/next'>"
    b"<link rel=canonical href=/canonical><link rel=alternate type=application/rss+xml href=/feed>"
    b'<script type=\'application/ld+json\'>{"datePublished":"2026-01-02"}</script></head><body><h1>One</h1>'
    b"<p>Some <b>words</b> &amp; <a href='a?b#c' rel=nofollow>a link</a>"
    b"<table><tr><td>cell</table></body></html>"
)
ROBOTS = (
    b"User-agent: *\nDisallow: /a*b$\nAllow: /a\nCrawl-delay: 2\n\n"
    b"User-agent: ipmicra\nDisallow: /x%2f\nSitemap: /s\n"
)
SITEMAP = (
    b"<?xml version='1.0'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><url>"
    b"<loc>http://site.example/a</loc><lastmod>2026-01-02T03:04:05Z</lastmod></url></urlset>"
)
RSS = (
    b"<rss version='2.0'><channel><item><link>http://site.example/a</link>"
    b"<pubDate>Fri, 02 Jan 2026 03:04:05 GMT</pubDate></item></channel></rss>"
)
ATOM = (
    b"<feed xmlns='http://www.w3.org/2005/Atom'><entry><link href='/a'/>"
    b"<updated>2026-01-02</updated></entry></feed>"
)
PDF = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj "
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R"
    b"/Resources<</Font<</F 5 0 R>>>>>>endobj "
    b"4 0 obj<</Length 33>>stream\nBT /F 9 Tf (some words) Tj ET\nendstream endobj "
    b"5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj trailer<</Root 1 0 R>>\n%%EOF"
)
RESPONSE = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"5\r\nhello\r\n0\r\n\r\n"
)
FRAMES = (
    b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"  # SETTINGS
    b"\x00\x00\x01\x01\x04\x00\x00\x00\x01\x88"  # HEADERS: :status 200
    b"\x00\x00\x05\x00\x01\x00\x00\x00\x01hello"  # DATA, the end
    b"\x00\x00\x08\x06\x00\x00\x00\x00\x0012345678"  # PING
)
QUESTIONS = (
    b"otter river",
    b'"a phrase" OR site:a.example -x (b c)',
    b"title:x filetype:pdf NEAR ~y after:2026-01-02",
)
REPORT = msgspec.msgpack.encode(
    Heartbeat(awake=True, rules={"hours": "always"}, own_sites=("http://a.example",))
)
SECRET, ME, NOW_S = b"secret", "127.0.0.1:1", 1_800_000_000.0


def read_html(data: bytes) -> None:
    page = extract(data, "text/html", URL)
    msgspec.msgpack.decode(msgspec.msgpack.encode(page), type=Page)
    for reader in READERS.values():
        read(as_utf8(data, "text/html")[0], "http://site.example/folder/", reader)


def read_charset(data: bytes) -> None:
    body, _ = as_utf8(data[1:], TYPES[data[0] % len(TYPES)] if data else "", URL)
    body.decode("utf-8")


def read_encoded(data: bytes) -> None:
    coding = CODINGS[data[0] % len(CODINGS)] if data else ""
    assert len(inflate(data[1:], coding, BODY_BYTES_MAX, 1_000).body) <= BODY_BYTES_MAX


def read_robots(data: bytes) -> None:
    rules = parse_robots(data, "ipmicra")
    for path in ("/", "/a/b?c=%2f", "/" + "a" * 2_000):
        rules.allows(path)


def read_listing(data: bytes) -> None:
    for entry in [*(listing(data) or ()), *feeds_in(data)]:
        assert isinstance(entry.reference, str)


def read_pdf(data: bytes) -> None:
    msgspec.msgpack.encode(extract(data, "application/pdf", URL))


class Sink(asyncio.Transport):
    """Takes what is written and forgets it."""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert len(data) < 1 << 20

    def close(self) -> None:
        pass

    abort = close


def answered(connection: HttpConnection, data: bytes) -> None:
    """The answer in two pieces, then the end of the connection: it is done, with a body or a failure."""
    loop = asyncio.new_event_loop()
    try:
        caps = ResponseCaps(body_bytes=BODY_BYTES_MAX, header_bytes=64 << 10, header_count=256)
        incoming = PartialResponse(FetchRequest(url=URL), caps, loop.create_future())
        connection.connection_made(Sink())
        connection.send(
            incoming, HttpTarget(True, "site.example", 443, "/", "site.example", (True, "", 443))
        )
        middle = len(data) // 3
        for piece in (data[:middle], data[middle:]):
            if not connection.closed:
                connection.data_received(piece)
        connection.connection_lost(None)
        assert incoming.done.done()
        assert incoming.failure or incoming.head_complete
        assert len(incoming.body()) <= BODY_BYTES_MAX
    finally:
        loop.close()


@cache
def wire() -> Wire:
    ours = SOCKETS[0]
    return Wire(
        (True, "site.example", 443), "http://site.example", ipaddress.ip_address("192.0.2.1"), ours, 1.0
    )


def read_http1(data: bytes) -> None:
    answered(Http1Connection(wire(), "fuzz"), data)


def read_http2(data: bytes) -> None:
    answered(Http2Connection(wire(), "fuzz"), data)


def write_warc(data: bytes) -> None:
    """What a site answered is archived as it came, and read back by another's reader."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.warc.gz"
        writer = WarcWriter(path, 0)
        writer.write(URL, 0, "192.0.2.1", b"GET / HTTP/1.1\r\n\r\n", data)
        writer.close()
        with path.open("rb") as file:
            kinds = [record.rec_type for record in ArchiveIterator(file, no_record_parse=True)]
    assert kinds == ["warcinfo", "response", "request"]


def read_package(data: bytes) -> None:
    for record in unpack(data).records:
        msgspec.msgpack.encode(record)


def read_frame(data: bytes) -> None:
    """Of somebody who knows the secret: what is authenticated is foreign all the same."""
    with contextlib.suppress(PeerFault):
        length_of(data[:4].ljust(4))
    mac = hmac.digest(SECRET, data, hashlib.sha256)
    FrameCodec(SECRET).decode(mac + data, ME, NOW_S)


def read_state(data: bytes) -> None:
    """A state that another host left, compressed as it travels or as the chunks inside."""
    with tempfile.TemporaryDirectory() as folder:
        frontier = Frontier(Path(folder) / "frontier")
        try:
            frontier.import_site(chunks_in(data))
        finally:
            frontier.close()


def read_chunks(*chunks: bytes) -> None:
    framed = b"".join(len(chunk).to_bytes(4, "little") + chunk for chunk in chunks)
    read_state(zstandard.compress(framed + b"\xff\xff\xff\xff"))


def read_site_head(data: bytes) -> None:
    read_chunks(data)


def read_site_pages(data: bytes) -> None:
    read_chunks(states()[1][0], data)


def read_report(data: bytes) -> None:
    """A host's report, after its signature was found to be right."""
    read_body(data, Heartbeat)


def read_registry(data: bytes) -> None:
    form = FORMATS[data[0] % len(FORMATS)] if data else FORMATS[0]
    gathering = Accumulator()
    read_stream(decompressed(io.BytesIO(data[1:])), "fuzz", form, gathering)
    tally = gathering.tally
    assert tally.records == tally.read + tally.passed_over.total() + tally.malformed.total()


def read_question(data: bytes) -> None:
    parse_query(data.decode("utf-8", errors="replace"))


def read_bundle(data: bytes) -> None:
    manifest, files = bundle_format.read(data, bundle_format.BundleCaps(code_bytes_max=1 << 20))
    assert manifest.files.keys() == files.keys()


def packages() -> tuple[bytes, ...]:
    page = extract(HTML, "text/html", URL)
    seen = PageSeen(url=URL, visit=1, fetched_at_ms=1, status=200, page=page)
    gone = PageGone(url=f"{URL}?gone", visit=2, fetched_at_ms=2, status=404)
    return pack([seen, gone], "lima", 1), pack([gone], "lima", 2)


def frames() -> tuple[bytes, ...]:
    frame = FrameCodec(SECRET).encode(SubmitSite("http://site.example"), ME, NOW_S)
    return (frame[4 + MAC_BYTES :],)


@cache
def states() -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """One as it travels, and its chunks."""
    with tempfile.TemporaryDirectory() as folder:
        frontier = Frontier(Path(folder) / "frontier")
        site = Site("http://site.example")
        frontier.add(DiscoveredUrl(url_at(site, path), 0, 0) for path in ("/", "/a"))
        chunks = list(frontier.export_site(site))
        name = write_state(Path(folder), site, SiteEpoch(1), chunks)
        frontier.close()
        assert name is not None
        return ((Path(folder) / name).read_bytes(),), tuple(chunks)


def registries() -> tuple[bytes, ...]:
    texts = [path.read_bytes()[:4_000] for path in sorted(sample_folder().iterdir())]
    return tuple(bytes([number % len(FORMATS)]) + text for number, text in enumerate(texts * 2))


@cache
def targets() -> dict[str, FuzzTarget]:
    whole_states, chunks = states()
    encoded = (gzip.compress(HTML), zlib.compress(HTML), brotli.compress(HTML), zstandard.compress(HTML))
    bundle = bundle_format.pack("1", "crawler", {"crawler/a.py": b"pass\n", "crawler/b.py": b"x = 1\n"})
    return {
        "html": FuzzTarget(read_html, (HTML,)),
        "charset": FuzzTarget(
            read_charset, (b"\0" + HTML, b"\1" + HTML.decode().encode("utf-16"), b"\2\x83\x65")
        ),
        "inflating": FuzzTarget(
            read_encoded,
            (
                *(bytes([at]) + body for at, body in enumerate(encoded)),
                b"\4" + brotli.compress(gzip.compress(HTML)),
            ),
            (BadEncoding, InflateBomb),
        ),
        "robots": FuzzTarget(read_robots, (ROBOTS,)),
        "sitemap": FuzzTarget(
            read_listing, (SITEMAP, gzip.compress(SITEMAP), b"http://a.example/\nhttp://b.example/\n")
        ),
        "feed": FuzzTarget(read_listing, (RSS, ATOM, HTML)),
        "pdf": FuzzTarget(read_pdf, (PDF,)),
        "http1": FuzzTarget(
            read_http1, (RESPONSE, b"HTTP/1.0 301 x\nLocation: /a\nContent-Length: 2\n\nab")
        ),
        "http2": FuzzTarget(read_http2, (FRAMES,)),
        "warc": FuzzTarget(write_warc, (RESPONSE,)),
        "package": FuzzTarget(read_package, packages(), (PackageRefused,)),
        "overlay-frame": FuzzTarget(read_frame, frames(), (PeerFault,)),
        "site-state": FuzzTarget(read_state, whole_states, (HostFault,)),
        "site-head": FuzzTarget(read_site_head, chunks[:1], (HostFault,)),
        "site-pages": FuzzTarget(read_site_pages, chunks[1:], (HostFault,)),
        "report": FuzzTarget(read_report, (REPORT,), (HostRefused,)),
        "registry": FuzzTarget(read_registry, registries(), DAMAGE),
        "question": FuzzTarget(read_question, QUESTIONS),
        "bundle": FuzzTarget(read_bundle, (bundle,), (bundle_format.BadBundle,)),
    }
