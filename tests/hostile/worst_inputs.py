"""The slowest inputs that we know of for every reader of foreign bytes, as large as their caps let them be.

Each `ForeignInput` is one way for a site into the event loop. Its cases return the processor seconds of the
longest piece of work that is done on the loop without a pause.
"""

from __future__ import annotations

import gc
import gzip
import importlib
import random
import time
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from ipaddress import ip_address
from itertools import count, islice
from typing import NamedTuple

import brotli  # type: ignore[import-untyped] # has no types
import zstandard

from ipmicra.carrier.page_delta import base_digest
from ipmicra.crawler.decisions.robots import MATCHING_WORK_MAX, ROBOTS_BYTES_MAX, parse_robots
from ipmicra.crawler.decisions.scope import scope_around
from ipmicra.crawler.decisions.sitemaps import HEAD_BYTES_MAX, LISTING_BYTES_MAX, feeds_in
from ipmicra.crawler.extraction.language import judged
from ipmicra.crawler.extraction.links import URL_CHARACTERS_MAX, joined
from ipmicra.crawler.extraction.markup import READERS, read
from ipmicra.crawler.fetching.content_decoding import BadEncoding, InflateBomb, inflate
from ipmicra.crawler.fetching.settings import FetchingSettings
from ipmicra.crawler.frontier.entries import LeasedUrl
from ipmicra.crawler.parsing.frames import Done, decode_reply, frame, job_pieces
from ipmicra.crawler.parsing.jobs import ParsedPage, ParseJob, parse
from ipmicra.crawler.parsing.pool import ParserPool
from ipmicra.crawler.parsing.weight import LIGHT_BYTES_MAX, LIGHT_TAGS_MAX
from ipmicra.crawler.plan import plan_from
from ipmicra.crawler.response_handler import ResponseHandler
from ipmicra.crawler.robots_file import LARGE_FILE_BYTES
from ipmicra.crawler.settings import CrawlerSettings
from ipmicra.model.fetches import Fetched, Headers, Timings
from ipmicra.model.plain_similarity import similarity_hash
from ipmicra.model.urls import Url, UrlKey

BODY_BYTES_MAX = FetchingSettings().body_bytes_max
PAGE = Url("http://a.example/d/")
Case = Callable[[], float]


class ForeignInput(NamedTuple):
    what: str
    cap: str
    cases: dict[str, Case]


def seconds_of(work: Callable[[], object]) -> float:
    with without_collector():
        began = time.thread_time()
        work()
        return time.thread_time() - began


@contextmanager
def without_collector() -> Iterator[None]:
    """A crawler's process has few old objects, this one has many: `crawl.tune_process`."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


# --- markup ---------------------------------------------------------------------------------------------


def repeated(unit: str | bytes) -> Callable[[int], bytes]:
    data = unit.encode() if isinstance(unit, str) else unit
    return lambda size: (data * (size // len(data) + 1))[:size]


def numbered(form: str) -> Callable[[int], bytes]:
    """The form with 0, 1, 2 ... in it: nothing is remembered from one to the next."""

    def made(size: int) -> bytes:
        units = (form.replace("{}", str(number)).encode() for number in count())
        return b"".join(islice(units, size // len(form) + 1))[:size]

    return made


def behind(start: bytes, rest: Callable[[int], bytes], end: bytes = b"") -> Callable[[int], bytes]:
    return lambda size: start + rest(size) + end


_DOTS = "x/../" * 800
MARKUP: dict[str, Callable[[int], bytes]] = {
    "words": repeated("hello world "),
    "nested blocks": repeated("<div>"),
    "nested formatting": repeated("<b><i><font>"),
    "nested links": repeated("<a href=x>"),
    "nested tables": repeated("<table><tr><td>"),
    "cells of nothing": behind(b"<table>" + b"<b>" * 500, repeated("<td>")),
    "one long attribute": behind(b"<p title='", repeated("a"), b"'>x"),
    "many attributes": behind(b"<p ", numbered("a{}=1 "), b">x"),
    "one attribute many times": behind(b"<p ", repeated("a=1 "), b">"),
    "a tag without end": behind(b"<", repeated("a")),
    "NULs": repeated(b"a\0b<p\0>\0</p\0>"),
    "links": numbered("<a href=/{}>{}</a>"),
    "links upwards": numbered("<a href=../{}?x rel=nofollow>"),
    "links elsewhere": numbered("<a href=http://x{}.example/a/../b/%7e{}>"),
    "links to names beyond ASCII": numbered("<a href=//é{}.example>"),
    "links of many dots": numbered("<a href='{}/" + _DOTS + "'>"),
    "links to be escaped": numbered("<a href='{}/" + "é \t" * 1_000 + "'>"),
    "comments": repeated("<!--"),
    "entities": repeated("&#x10ffff;&amp;&notin;&#0;"),
    "entities without end": repeated("&amp"),
    "one long title": behind(b"<title>", repeated("w")),
    "quotes": repeated("<blockquote>a"),
    "lists": repeated("<ol><li>a"),
    "end tags of nothing": behind(b"<b>" + b"<x>" * 600, repeated("</zz></i></b>")),
    "formatting out of order": repeated("<i>" * 200 + "<div>" * 200 + "</i>" * 200),
    "scripts in comments": behind(b"<script><!--", repeated("<script></script>")),
    "JSON-LD without end": behind(b"<script>", repeated('"datePublished":')),
    "JSON-LD of blanks": behind(b"<script>", repeated('"datePublished"' + " " * 10_000)),
    "many scripts with a date": repeated('<script>"dateX"</script>'),
    "lines": repeated("a<br>"),
    "headings": repeated("<h1>a</h1>"),
    "open headings": repeated("<h1>a"),
    "Chinese": repeated("中文字符"),
    "combining marks": repeated("e" + "\u0301" * 999),
    "blanks": repeated(" "),
    "blanks beyond ASCII": repeated("\u00a0"),
    "Latin-1": repeated(b"\xe9\xe8 abc "),
    "Shift JIS": repeated(b"\x83\x65\x83\x58 "),
    "noise": lambda size: random.Random(1).randbytes(size).replace(b"<", b"x"),
    "UTF-16": behind(b"\xff\xfe", repeated(b"a\0<\0")),
    "GB 18030": behind(b"<meta charset=gb18030>", repeated(b"\x81\x30\x81\x30")),
    "ISO-2022-JP": behind(b"<meta charset=iso-2022-jp>", repeated(b"\x1b$B0!\x1b(B")),
    "Big5": behind(b"<meta charset=big5>", repeated(b"\xa4\xa4")),
    "EUC-KR that is none": behind(b"<meta charset=euc-kr>", repeated(b"\xff")),
    "metas": repeated("<meta name=a content=b>"),
    "robots": repeated("<meta name=robots content='a,b;c d'>"),
    "one long robots": behind(b"<meta name=robots content='", repeated("a,b;"), b"'>"),
    "refresh": behind(b'<meta http-equiv=refresh content="', repeated(" "), b'x">'),
    "drawings": repeated("<svg><title>a"),
    "formulas": repeated("<math><mi><svg><desc>"),
    "footers": repeated("<footer>a"),
    "hidden parts": repeated("<p hidden>a"),
    "templates": repeated("<template>a"),
    "frames": behind(b"<frameset>", repeated("<frame src=a>")),
    "pictures in links": repeated("<a href=x><img alt=b>"),
    "bases": repeated("<base href=x>"),
    "feeds": repeated("<link rel=alternate type=application/rss+xml href=/a>"),
    "empty elements": repeated("<a x/>"),
    "empty elements without end": repeated("<a x"),
}
XHTML = ("empty elements", "empty elements without end")


def light(make: Callable[[int], bytes]) -> bytes:
    """As large as a page may be that is parsed on the loop: cut at the last tag that is allowed."""
    body, at = make(LIGHT_BYTES_MAX)[:LIGHT_BYTES_MAX], -1
    if body.count(b"<") <= LIGHT_TAGS_MAX:
        return body
    for _ in range(LIGHT_TAGS_MAX + 1):
        at = body.index(b"<", at + 1)
    return body[:at]


def longest_step_seconds(steps: Generator[ParseJob | None, ParsedPage, object]) -> float:
    """Of one response, light jobs being parsed on the loop; of the others the frames are counted."""
    longest, sent, parsers = 0.0, None, ParserPool(None)
    while True:
        began = time.thread_time()
        try:
            wanted = next(steps) if sent is None else steps.send(sent)
            while wanted is not None and len(wanted.body) <= LIGHT_BYTES_MAX:
                wanted = steps.send(parsers.parse_now(wanted))
        except StopIteration:
            return max(longest, time.thread_time() - began)
        longest, sent = max(longest, time.thread_time() - began), None
        if wanted is not None:
            reply = b"".join(frame(Done(parse(wanted)))[1:])
            began = time.thread_time()
            for _ in job_pieces(wanted):
                pass
            done = decode_reply(reply)
            longest, sent = max(longest, time.thread_time() - began), done.parsed


def visit_seconds(body: bytes, content_type: str = "text/html") -> float:
    plan = plan_from(CrawlerSettings(), scope_around([PAGE], "any"), watch=True)
    leased = LeasedUrl(UrlKey(1), 1, PAGE, 0, 0, visit=1, content_hash=b"x" * 16)
    base = base_digest(parse(ParseJob(body=body[:1000], content_type="text/html", url=PAGE)).page)
    handler = ResponseHandler(plan, lambda _: base)
    with without_collector():
        return longest_step_seconds(handler.on_response(leased, _fetched(body, content_type), 10**12))


def _fetched(body: bytes, content_type: str) -> Fetched:
    return Fetched(
        url=PAGE,
        status=200,
        headers=Headers([(b"content-type", content_type.encode())]),
        body=body,
        truncated=False,
        body_skipped=False,
        address=ip_address("192.0.2.1"),
        http_version="1.1",
        reused=False,
        bytes_on_wire=len(body),
        timings=Timings(
            round_trip_ms=None,
            round_trip_is_kernel=False,
            dns_ms=None,
            connect_ms=None,
            tls_ms=None,
            first_byte_ms=0.0,
            download_ms=0.0,
        ),
    )


@contextmanager
def reader_used(name: str) -> Iterator[None]:
    module = importlib.import_module("ipmicra.crawler.extraction.extract")
    before = vars(module)["read"]
    vars(module)["read"] = partial(read, reader=READERS[name])
    try:
        yield
    finally:
        vars(module)["read"] = before


def _by_reader(reader: str, make: Callable[[int], bytes], content_type: str) -> float:
    body = light(make)
    with reader_used(reader):
        return visit_seconds(body, content_type)


def _type_of(name: str) -> str:
    return "application/xhtml+xml" if name in XHTML else "text/html"


def _markup_cases(reader: str) -> dict[str, Case]:
    return {name: partial(_by_reader, reader, make, _type_of(name)) for name, make in MARKUP.items()}


def _large(name: str) -> float:
    return visit_seconds(MARKUP[name](BODY_BYTES_MAX)[:BODY_BYTES_MAX], _type_of(name))


# --- everything else ------------------------------------------------------------------------------------


def _inflated(name: str) -> float:
    make, coding = STACKS[name]
    body = make()

    def work() -> None:
        with suppress(BadEncoding, InflateBomb):
            inflate(body[:BODY_BYTES_MAX], coding, BODY_BYTES_MAX, 200)

    return seconds_of(work)


def _text(size: int) -> bytes:
    dice = random.Random(3)
    words = [f"{dice.getrandbits(20):x}".encode() for _ in range(5_000)]
    return b" ".join(dice.choice(words) for _ in range(size // 6))[:size]


def _stack(*codings: Callable[[bytes], bytes]) -> bytes:
    body = _text(7 << 20)
    for coding in codings:
        body = coding(body)
    return body


_BROTLI = partial(brotli.compress, quality=1)
_ZSTD = zstandard.ZstdCompressor(level=1).compress
_DEFLATE = partial(zlib.compress, level=1)
_EMPTY_FRAME = zstandard.ZstdCompressor().compress(b"")
STACKS: dict[str, tuple[Callable[[], bytes], str]] = {
    "gzip": (lambda: _stack(partial(gzip.compress, compresslevel=1)), "gzip"),
    "brotli": (lambda: _stack(_BROTLI), "br"),
    "zstd": (lambda: _stack(_ZSTD), "zstd"),
    "deflate thrice": (lambda: _stack(_DEFLATE, _DEFLATE, _DEFLATE), "deflate, deflate, deflate"),
    "brotli thrice": (lambda: _stack(_BROTLI, _BROTLI, _BROTLI), "br, br, br"),
    "bomb of gzip": (lambda: gzip.compress(bytes(60 << 20)), "gzip"),
    "bomb of brotli": (lambda: brotli.compress(bytes(60 << 20), quality=1), "br"),
    "members": (lambda: gzip.compress(b"x" * 999) * 100_000, "gzip"),
    "members in brotli": (lambda: brotli.compress(gzip.compress(b"") * 400_000, quality=5), "gzip, br"),
    "empty frames": (lambda: _EMPTY_FRAME * 400_000, "zstd"),
    "empty blocks": (lambda: _EMPTY_FRAME[:-3] + b"\x00\x00\x00" * 2_000_000, "zstd"),
}

_LISTINGS: dict[str, Callable[[int], bytes]] = {
    "tags": behind(b"<urlset>", repeated("<a/>")),
    "entries": behind(b"<urlset>", numbered("<url><loc>http://a.example/{}</loc></url>")),
    "dates": behind(b"<urlset>", repeated("<url><loc>a</loc><lastmod>Sun, 01 Nov 2026</lastmod></url>")),
    "depth": behind(b"<urlset>", repeated("<a>")),
    "attributes": behind(b"<urlset><url ", numbered("a{}='' "), b"/>"),
    "names": behind(b"<urlset>", numbered("<a{} xmlns='b{}'/>")),
    "one text": behind(b"<urlset><url><loc>", repeated("a")),
    "lines": numbered("http://a.example/{}\n"),
    "feed": behind(b"<feed>", numbered("<entry><link href='/{}'/></entry>")),
}


def _listing(make: Callable[[int], bytes], packed: bool) -> float:
    """A plain one of a quarter of its cap: its steps are as long as those of a larger one."""
    body = make(LISTING_BYTES_MAX if packed else BODY_BYTES_MAX // 4)
    if packed:
        body = gzip.compress(body, 1)
    return visit_seconds(body, "application/xml")


ROBOTS = {
    "newlines": b"\n" * ROBOTS_BYTES_MAX,
    "colons": b":\n" * ROBOTS_BYTES_MAX,
    "rules": b"user-agent:*\n" + b"disallow:/*aaaabaaaa\n" * ROBOTS_BYTES_MAX,
    "escapes": b"user-agent:*\ndisallow:/" + b"%41" * ROBOTS_BYTES_MAX,
    "beyond ASCII": b"user-agent:*\ndisallow:/" + "é".encode() * ROBOTS_BYTES_MAX,
    "stars": b"user-agent:*\ndisallow:/" + b"*a" * ROBOTS_BYTES_MAX,
}


def _robots(body: bytes) -> float:
    """A file that is read on the loop; of the longest that is not, one URL held against it."""
    rules = parse_robots(body[:ROBOTS_BYTES_MAX], "ipmicra")
    compared = (seconds_of(partial(rules.allows, "/" + "a" * length)) for length in (10, 1_000, 4_000))
    read_whole = seconds_of(partial(parse_robots, body[: LARGE_FILE_BYTES - 1], "ipmicra"))
    return max(read_whole, *compared)


_TEXTS = {
    "Chinese": "中文字符" * 4_000,
    "combining marks": "e" + "\u0301" * 10_000,
    "words": "to be or not " * 900,
    "one word": "a" * 10_000,
    "surrogates": "\ud800" * 10_000,
    "all of Unicode": "".join(map(chr, range(32, 10_000))),
}

FOREIGN_INPUTS = (
    *(
        ForeignInput(
            f"page, {reader} reader, with charset, language, dates, links and what is remembered",
            f"{LIGHT_BYTES_MAX >> 10} KiB and {LIGHT_TAGS_MAX:,} tags; the others in a process",
            _markup_cases(reader),
        )
        for reader in READERS
    ),
    ForeignInput(
        "what is left of a large page when a process has parsed it",
        f"{BODY_BYTES_MAX >> 20} MiB, 50,000 links",
        {
            name: partial(_large, name)
            for name in ("links", "links to names beyond ASCII", "lines", "words")
        },
    ),
    ForeignInput(
        "content codings",
        f"{BODY_BYTES_MAX >> 20} MiB, 3 layers",
        {name: partial(_inflated, name) for name in STACKS},
    ),
    ForeignInput(
        "sitemaps and feeds, in steps",
        f"{LISTING_BYTES_MAX >> 20} MiB, 50,000 entries",
        {
            f"{name}{', gzipped' if packed else ''}": partial(_listing, make, packed)
            for name, make in _LISTINGS.items()
            for packed in (False, True)
            if not packed or name == "entries"
        },
    ),
    ForeignInput(
        "robots.txt",
        f"{LARGE_FILE_BYTES >> 10} KiB, larger in a thread; {MATCHING_WORK_MAX:,} comparisons per URL",
        {name: partial(_robots, body) for name, body in ROBOTS.items()},
    ),
    ForeignInput(
        "feeds that a page announces",
        f"{HEAD_BYTES_MAX >> 10} KiB",
        {
            unit.decode()[:40].strip(): partial(
                seconds_of, partial(feeds_in, (unit * HEAD_BYTES_MAX)[: HEAD_BYTES_MAX - 4] + b"+xml")
            )
            for unit in (
                b"<link application/rss+xml",
                b"<link ",
                b"<link rel=application/rss+xml href" + b" " * 900 + b">",
            )
        },
    ),
    ForeignInput(
        "language",
        "300 characters",
        {name: partial(seconds_of, partial(judged, text[:300])) for name, text in _TEXTS.items()},
    ),
    ForeignInput(
        "similarity hash, without numpy",
        "8,192 characters",
        {name: partial(seconds_of, partial(similarity_hash, text)) for name, text in _TEXTS.items()},
    ),
    ForeignInput(
        "one link joined",
        f"{URL_CHARACTERS_MAX:,} characters",
        {
            unit: partial(
                seconds_of, partial(joined, PAGE, (unit * URL_CHARACTERS_MAX)[:URL_CHARACTERS_MAX])
            )
            for unit in ("x/../", "//é.", "%", "é\t", "@", "//[::1]:", "\\")
        },
    ),
)
