"""A body as it crossed the wire and its Content-Encoding -> the body, never longer than a cap.

Invariant: no step ever produces more bytes than the cap, for any input; the layers of a nested encoding
share it. A body of more members, frames or blocks than any server writes is refused: each costs time even
if it is empty. A body that was cut is marked as cut; one that was cut at an absurd ratio is a bomb.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, cast

import brotli  # type: ignore[import-untyped]  # ships no types
import zstandard
from isal import isal_zlib

LAYERS_MAX = 3
MEMBERS_MAX = 1_024  # of a gzip body: block-wise writers make one per 64 KiB
MEMBER_PIECE_BYTES = (
    16 << 10
)  # what is left over behind a member is copied, so little is offered at once
ZSTD_PARTS_MAX = 16_384  # frames and blocks of a zstd body: full blocks have 128 KiB
PIECE_BYTES_MIN = 256
PIECES = 64  # fed bit by bit, so that the ratio of what was consumed is known when the cap is met
ZSTD_WINDOW_BYTES_MAX = 8 << 20  # RFC 9659: what a content coding may ask of a client
_ZSTD_REPEATED_BYTE = 1
ACCEPT_ENCODING = "gzip, deflate, br, zstd"
_INFLATE_ERROR = cast(type[Exception], isal_zlib.error)


class BadEncoding(Exception):
    """The body is not what its Content-Encoding says, or we do not know that encoding."""


class InflateBomb(Exception):
    """The body inflates past the cap, by a ratio that no page has."""


class Inflated(NamedTuple):
    body: bytes
    cut: bool  # longer than the cap, or the compressed stream ended early


class _Layer(NamedTuple):
    body: bytes
    cut: bool
    consumed_bytes: int


def inflate(body: bytes, content_encoding: str, bytes_max: int, ratio_max: int) -> Inflated:
    """Undo the codings, last applied first. Raises BadEncoding or InflateBomb."""
    codings = _codings(content_encoding)
    if len(codings) > LAYERS_MAX:
        raise BadEncoding(f"{len(codings)} nested encodings")
    cut, ratio, inner_bytes_max = False, 1.0, bytes_max
    for position, coding in enumerate(reversed(codings), 1):
        if not body:
            break
        is_inner = position < len(codings)
        layer = _decode_layer(coding, body, inner_bytes_max if is_inner else bytes_max)
        inner_bytes_max -= len(layer.body) if is_inner else 0
        if layer.cut and not layer.body:
            raise BadEncoding(f"not {coding}: it ends before anything comes out")
        ratio *= len(layer.body) / max(1, layer.consumed_bytes)
        cut = cut or layer.cut
        body = layer.body
        is_full = len(body) >= bytes_max or inner_bytes_max <= 0
        if is_full and ratio > ratio_max:
            raise InflateBomb(f"{coding} inflates {ratio:.0f} times past {bytes_max} bytes")
        if inner_bytes_max <= 0:
            raise BadEncoding(f"the layers inside {content_encoding[:80]!r} exceed {bytes_max} bytes")
    return Inflated(body, cut)


@lru_cache(64)
def _codings(content_encoding: str) -> tuple[str, ...]:
    names = [part.strip() for part in content_encoding.lower().split(",")]
    return tuple(name for name in names if name and name != "identity")


def _decode_layer(coding: str, body: bytes, bytes_max: int) -> _Layer:
    undo = _UNDO.get(coding)
    if undo is None:
        raise BadEncoding(f"unknown encoding {coding[:40]!r}")
    try:
        return undo(body, bytes_max)
    except (_INFLATE_ERROR, zlib.error, brotli.error, zstandard.ZstdError, EOFError) as error:
        raise BadEncoding(f"not {coding}: {error}") from error


def _gunzip(body: bytes, bytes_max: int) -> _Layer:
    """All members of a gzip file, as one; what follows the last member is ignored."""
    made = _inflate(body, bytes_max, wbits=31)
    if not made[1]:
        return _Layer(made[0], made[2], len(body))
    parts, length, at, cut = [made[0]], len(made[0]), len(body) - len(made[1]), made[2]
    while body.startswith(b"\x1f\x8b", at) and length < bytes_max:
        if len(parts) >= MEMBERS_MAX:
            raise BadEncoding(f"more than {MEMBERS_MAX} gzip members")
        data, at, cut = _gunzip_member(body, at, bytes_max - length)
        parts.append(data)
        length += len(data)
    return _Layer(b"".join(parts), cut, at)


def _gunzip_member(body: bytes, at: int, bytes_max: int) -> tuple[bytes, int, bool]:
    """The member that begins at `at`, where the next one begins, and whether something is missing."""
    machine = isal_zlib.decompressobj(wbits=31)
    parts: list[bytes] = []
    length = 0
    while not machine.eof and length < bytes_max:
        offered = machine.unconsumed_tail or body[at : at + MEMBER_PIECE_BYTES]
        if not offered:
            break
        part = machine.decompress(offered, bytes_max - length)
        at += len(offered) - len(machine.unconsumed_tail) - len(machine.unused_data)
        parts.append(part)
        length += len(part)
    return b"".join(parts), at, not machine.eof


def _undeflate(body: bytes, bytes_max: int) -> _Layer:
    """zlib as the standard says, or the bare deflate that some servers send instead."""
    try:
        data, rest, cut = _inflate(body, bytes_max, wbits=15)
    except _INFLATE_ERROR:
        data, rest, cut = _inflate(body, bytes_max, wbits=-15)
    return _Layer(data, cut, len(body) - len(rest))


def _inflate(body: bytes, bytes_max: int, wbits: int) -> tuple[bytes, bytes, bool]:
    """Inflated bytes, input left over, and whether something is missing."""
    machine = isal_zlib.decompressobj(wbits=wbits)
    data = machine.decompress(body, bytes_max)
    return data, machine.unconsumed_tail or machine.unused_data, not machine.eof


def _unbrotli(body: bytes, bytes_max: int) -> _Layer:
    machine = brotli.Decompressor()
    parts: list[bytes] = []
    length = consumed = 0
    piece_bytes = _piece_bytes(body)
    while length < bytes_max and not machine.is_finished():
        piece = b""
        if machine.can_accept_more_data():
            piece = body[consumed : consumed + piece_bytes]
            if not piece:
                break
            consumed += len(piece)
        part = machine.process(piece, output_buffer_limit=bytes_max - length)
        parts.append(part)
        length += len(part)
    data = b"".join(parts)
    return _Layer(data[:bytes_max], not machine.is_finished() or length > bytes_max, consumed)


def _unzstd(body: bytes, bytes_max: int) -> _Layer:
    is_whole = _zstd_is_whole(body)
    machine = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_BYTES_MAX)
    source = io.BytesIO(body)
    with machine.stream_reader(source, read_size=_piece_bytes(body), read_across_frames=True) as reader:
        data = reader.read(bytes_max)
        more = len(data) == bytes_max and bool(reader.read(1))
        consumed = source.tell()
    return _Layer(data, more or not is_whole, consumed)


def _zstd_is_whole(body: bytes) -> bool:
    """Whether the last block of a last frame has arrived: the library does not say (RFC 8878, 3.1.1)."""
    rest = memoryview(body)
    parts = 0
    while rest:
        frame = zstandard.get_frame_parameters(rest)
        rest = rest[zstandard.frame_header_size(rest) :]
        last = False
        parts += 1
        while not last and len(rest) >= 3:
            parts += 1
            if parts > ZSTD_PARTS_MAX:
                raise BadEncoding(f"more than {ZSTD_PARTS_MAX} zstd frames and blocks")
            header = int.from_bytes(rest[:3], "little")
            last = bool(header & 1)
            length = 1 if header >> 1 & 3 == _ZSTD_REPEATED_BYTE else header >> 3
            if len(rest) < 3 + length:
                return False
            rest = rest[3 + length :]
        checksum_bytes = 4 if frame.has_checksum else 0
        if not last or len(rest) < checksum_bytes:
            return False
        rest = rest[checksum_bytes:]
    return True


def _piece_bytes(body: bytes) -> int:
    return max(PIECE_BYTES_MIN, len(body) // PIECES)


_UNDO: dict[str, Callable[[bytes, int], _Layer]] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _undeflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}
