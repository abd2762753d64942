"""A file, plain or compressed -> its contents, a piece at a time.

Invariant: the compression is recognised by the first bytes, not by the name. A truncated or damaged file
raises one of DAMAGE; it never just ends.
"""

from __future__ import annotations

import bz2
import zlib
from pathlib import Path
from typing import IO, Protocol, cast

import zstandard
from isal import igzip, igzip_lib

ZSTD_PIECE_BYTES = 1 << 10  # a kilobyte of zstd can hold 32 MB of zeros: the bound of a bomb

DAMAGE: tuple[type[Exception], ...] = (
    EOFError,
    OSError,
    zlib.error,
    zstandard.ZstdError,
    cast(type[Exception], igzip_lib.error),  # an instance, say its stubs
)


class Readable(Protocol):
    """All that the parsers ask of a file."""

    def read(self, size: int, /) -> bytes: ...


class ZstdContents:
    """The contents of zstd frames. Unlike the library's own reader it notices a truncated file."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._within_frame = False
        self._ready = bytearray()

    def read(self, size: int, /) -> bytes:
        while len(self._ready) < size:
            packed = self._frame.unused_data if self._frame.eof else b""
            packed = packed or self._stream.read(ZSTD_PIECE_BYTES)
            if not packed:
                break
            if self._frame.eof:
                self._frame = zstandard.ZstdDecompressor().decompressobj()
            self._ready += self._frame.decompress(packed)
            self._within_frame = not self._frame.eof
        if not self._ready and self._within_frame:
            raise EOFError("the file ends within a zstd frame")
        contents = bytes(self._ready[:size])
        del self._ready[:size]
        return contents


def decompressed(stream: IO[bytes]) -> Readable:
    """The stream's contents; gzip, bzip2 and zstd are recognised by their first bytes, not by the name."""
    magic = stream.read(4)
    stream.seek(0)
    if magic[:2] == b"\x1f\x8b":
        return cast(Readable, igzip.open(stream, "rb"))  # type: ignore[no-untyped-call] # has no types
    if magic[:3] == b"BZh":
        return bz2.BZ2File(stream)
    if magic == b"\x28\xb5\x2f\xfd":
        return ZstdContents(stream)
    return stream


def head(path: Path, size: int = 1 << 16) -> bytes:
    """The first bytes of the contents, for telling the format; what can be had of a damaged file."""
    with path.open("rb") as stream:
        try:
            return decompressed(stream).read(size)
        except DAMAGE:
            return b""
