"""A path -> what a hostile site answers to it, and what must come of that.

`PRANKS` is the table: each prank writes its bytes; `outcome` is the FailureKind to be recorded, or a word
about the page that arrives all the same. Endless pranks write until the visitor hangs up.
"""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import brotli  # type: ignore[import-untyped] # has no types
import zstandard

from ipmicra.model.failures import FailureKind
from ipmicra.testing.plain_site import answer

Writer = asyncio.StreamWriter
Play = Callable[[Writer], Awaitable[None]]
BOMB_BYTES = 64 << 20
HTML = "content-type: text/html"


class Prank(NamedTuple):
    play: Play
    outcome: FailureKind | str  # "whole", "truncated": a page arrives


def says(data: bytes) -> Play:
    """Write these bytes, once, and wait for the visitor to hang up or go on."""

    async def play(writer: Writer) -> None:
        writer.write(data)
        await writer.drain()

    return play


def says_and_closes(data: bytes) -> Play:
    async def play(writer: Writer) -> None:
        writer.write(data)
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    return play


def says_without_end(start: bytes, more: bytes, pause_seconds: float = 0) -> Play:
    async def play(writer: Writer) -> None:
        writer.write(start)
        while not writer.is_closing():
            writer.write(more)
            await writer.drain()
            await asyncio.sleep(pause_seconds)

    return play


async def says_nothing(writer: Writer) -> None:
    await asyncio.Event().wait()


def packed(body: bytes, coding: str) -> bytes:
    return answer(body, 200, HTML, f"content-encoding: {coding}")


def gzip_bomb() -> bytes:
    squeezer = zlib.compressobj(9, wbits=31)
    piece = bytes(1 << 20)
    return b"".join([squeezer.compress(piece) for _ in range(BOMB_BYTES >> 20)]) + squeezer.flush()


def brotli_bomb() -> bytes:
    squeezer = brotli.Compressor(quality=5)
    piece = bytes(1 << 20)
    pieces: list[bytes] = [squeezer.process(piece) for _ in range(BOMB_BYTES >> 20)]
    return b"".join([*pieces, squeezer.finish()])


def zstd_bomb() -> bytes:
    squeezer = zstandard.ZstdCompressor().compressobj()
    piece = bytes(1 << 20)
    return b"".join([squeezer.compress(piece) for _ in range(BOMB_BYTES >> 20)]) + squeezer.flush()


CHUNKED = answer(b"", 200, HTML, "transfer-encoding: chunked")
OPEN_ENDED = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n"
PAGE = gzip.compress(b"<p>" + bytes(range(256)) * 64)
KIND = FailureKind


def pranks() -> dict[str, Prank]:
    """Every prank by its path."""
    return {**_slow(), **_endless(), **_malformed(), **_packed(), **_odd_but_whole()}


def _slow() -> dict[str, Prank]:
    half_a_head = b"HTTP/1.1 200 OK\r\nx-slow: "
    return {
        "/silent": Prank(says_nothing, KIND.SILENT),
        "/drip": Prank(says_without_end(OPEN_ENDED, b"x", 0.02), KIND.TOO_SLOW),
        "/drip-of-headers": Prank(says_without_end(half_a_head, b"x", 0.02), KIND.TOO_SLOW),
        "/stuck": Prank(says(answer(b"only a part", 200, HTML, length=5000)), KIND.TOO_SLOW),
        "/steady-but-long": Prank(says_without_end(OPEN_ENDED, b"x" * 400, 0.02), KIND.TOO_LONG),
    }


def _endless() -> dict[str, Prank]:
    too_large = KIND.HEADERS_TOO_LARGE
    start = b"HTTP/1.1 200 OK\r\n"
    few_bytes_many_fields = [f"x-{number}: y" for number in range(300)]
    return {
        "/endless-body": Prank(says_without_end(OPEN_ENDED, b"x" * 9000), "truncated"),
        "/endless-chunks": Prank(
            says_without_end(CHUNKED, b"400\r\n" + b"x" * 1024 + b"\r\n"), "truncated"
        ),
        "/endless-headers": Prank(says_without_end(start, b"x-more: and more\r\n" * 99), too_large),
        "/endless-header-name": Prank(says_without_end(start, b"x" * 4000), too_large),
        "/endless-header-value": Prank(says_without_end(start + b"x: ", b"y" * 4000), too_large),
        "/endless-reason": Prank(says_without_end(b"HTTP/1.1 200 ", b"y" * 4000), too_large),
        "/endless-interim": Prank(says_without_end(b"", b"HTTP/1.1 103 Hints\r\n\r\n" * 99), too_large),
        "/many-headers": Prank(says(answer(b"", 200, *few_bytes_many_fields)), too_large),
        "/endless-trailers": Prank(
            says_without_end(CHUNKED + b"0\r\n", b"x-more: and more\r\n" * 99), KIND.BAD_HTTP
        ),
        "/endless-chunk-extension": Prank(says_without_end(CHUNKED + b"1;", b"x" * 4000), KIND.BAD_HTTP),
    }


def _malformed() -> dict[str, Prank]:
    bad = KIND.BAD_HTTP
    two_lengths = answer(b"12345", 200, "content-length: 5", "content-length: 4")
    return {
        "/not-http": Prank(says(b"220 mail.example ESMTP ready\r\n"), bad),
        "/bare-html": Prank(says_and_closes(b"<html>no head at all</html>"), bad),
        "/two-lengths": Prank(says(two_lengths), bad),
        "/negative-length": Prank(says(answer(b"1", 200, "content-length: -1")), bad),
        "/wordy-length": Prank(says(answer(b"1", 200, "content-length: one")), bad),
        "/length-and-chunks": Prank(
            says(answer(b"0\r\n\r\n", 200, "content-length: 5", "transfer-encoding: chunked")), bad
        ),
        "/garbage-chunks": Prank(says(CHUNKED + b"zz\r\nhello\r\n"), bad),
        "/huge-chunk": Prank(says(CHUNKED + b"f" * 17 + b"\r\nhello\r\n"), bad),
        "/switching": Prank(
            says(b"HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\nhello"), bad
        ),
        "/null-in-header": Prank(says(answer(b"1", 200, "x: \0")), bad),
        "/no-answer": Prank(says_and_closes(b""), KIND.RESET),
        "/short-of-its-length": Prank(says_and_closes(answer(b"123", 200, HTML, length=99)), KIND.RESET),
        "/short-of-its-chunks": Prank(says_and_closes(CHUNKED + b"5\r\nhel"), KIND.RESET),
    }


def _packed() -> dict[str, Prank]:
    bomb = KIND.INFLATE_BOMB
    inner = gzip_bomb()
    return {
        "/bomb-gzip": Prank(says(packed(inner, "gzip")), bomb),
        "/bomb-nested": Prank(says(packed(gzip.compress(inner), "gzip, gzip")), bomb),
        "/bomb-mixed": Prank(says(packed(brotli.compress(inner, quality=5), "gzip, br")), bomb),
        "/bomb-deflate": Prank(says(packed(zlib.compress(bytes(BOMB_BYTES >> 3)), "deflate")), bomb),
        "/bomb-br": Prank(says(packed(brotli_bomb(), "br")), bomb),
        "/bomb-zstd": Prank(says(packed(zstd_bomb(), "zstd")), bomb),
        "/zstd-window": Prank(says(packed(_wide_window(), "zstd")), KIND.BAD_ENCODING),
        "/not-gzip": Prank(says(packed(b"<p>plain", "gzip")), KIND.BAD_ENCODING),
        "/not-br": Prank(says(packed(b"<p>plain", "br")), KIND.BAD_ENCODING),
        "/not-zstd": Prank(says(packed(b"<p>plain", "zstd")), KIND.BAD_ENCODING),
        "/unknown-coding": Prank(says(packed(b"<p>plain", "rot13")), KIND.BAD_ENCODING),
        "/coding-matryoshka": Prank(says(packed(PAGE, "gzip, gzip, gzip, gzip")), KIND.BAD_ENCODING),
        "/gzip-cut-off": Prank(says(packed(PAGE[:-20], "gzip")), "truncated"),
    }


def _wide_window() -> bytes:
    """A frame that asks for a window of 128 MiB to hold a few bytes."""
    settings = zstandard.ZstdCompressionParameters(window_log=27)
    squeezer = zstandard.ZstdCompressor(compression_params=settings).compressobj()
    return squeezer.compress(b"<p>" * 100) + squeezer.flush()


def _odd_but_whole() -> dict[str, Prank]:
    return {
        "/charset-nonsense": Prank(
            says(answer(b"<p>\xff\xfe\xc3\x28", 200, "content-type: text/html; charset=klingon")),
            "whole",
        ),
        "/charset-lies": Prank(
            says(answer("<p>größe".encode("utf-16"), 200, "content-type: text/html; charset=utf-8")),
            "whole",
        ),
        "/nulls": Prank(says(answer(b"<p>\0\0\0 text \0", 200, HTML)), "whole"),
        "/deep": Prank(says(answer(b"<div>" * 20_000, 200, HTML)), "whole"),
        "/longer-than-its-length": Prank(says(answer(b"12345 and more", 200, HTML, length=5)), "whole"),
        "/until-closed": Prank(says_and_closes(OPEN_ENDED + b"<p>to the end"), "whole"),
        "/identity-until-closed": Prank(
            says_and_closes(CHUNKED.replace(b"chunked", b"identity") + b"<p>to the end"), "whole"
        ),
        "/line-feeds-only": Prank(says(answer(b"<p>here", 200, HTML).replace(b"\r\n", b"\n")), "whole"),
        "/interim-first": Prank(says(b"HTTP/1.1 103 Hints\r\n\r\n" + answer(b"<p>here")), "whole"),
        "/trailing-junk-after-gzip": Prank(says(packed(PAGE + b"junk", "gzip")), "whole"),
        "/gzip-in-members": Prank(says(packed(PAGE + PAGE, "gzip")), "whole"),
        "/bare-deflate": Prank(says(packed(zlib.compress(b"<p>here")[2:-4], "deflate")), "whole"),
    }
