"""Pieces of bytes -> a zstd frame, and back.

Invariant: the same pieces at the same level give the same frame. A frame is never inflated beyond what
was promised of it, and what inflates to less is refused too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

import zstandard

LEVEL_FOR_ALIKE = 5
LEVEL_FOR_VARIED = 11
_PAGES_OF_A_SITE_ALIKE = (
    10  # on average; above this a package is so repetitive that a lower level suffices
)
_WINDOW_LOG = 24  # 16 MiB: so that the first page of many sites helps the last; the compressor keeps it
_WINDOW_LOG_SMALL = 22  # enough where the tables hold no more: pages of a site stand together
_WINDOW_LOG_MAX = 27
_HASH_LOG, _CHAIN_LOG = (
    22,
    21,
)  # 24 MiB of tables: with them a level does what the next one does, in less time
_LEVEL_OF_TABLES = 8  # below it, larger tables cost more time and memory than they save bytes
_MATCH_MIN = 6  # below it too: pages alike share phrases, and looking for less costs time and bytes


class FrameDamaged(ValueError):
    """Not a frame, or one that does not inflate to the promised size."""


class Frame(NamedTuple):
    data: bytearray
    inflated_bytes: int


def level_for(urls: Collection[str]) -> int:
    """How hard to compress a package with these pages.

    Many pages of a site are crawled fast, by a grant, and repeat each other; pages of many sites come slowly,
    as politeness has it, and differ: there a harder level saves a quarter of the bytes.
    """
    alike = urls and are_alike(len(urls), len(set(map(site_part, urls))))
    return LEVEL_FOR_ALIKE if alike else LEVEL_FOR_VARIED


def are_alike(pages: int, sites: int) -> bool:
    return pages >= _PAGES_OF_A_SITE_ALIKE * sites


def site_part(url: str) -> str:
    """The part between the second slash and the third."""
    return url.partition("//")[2].partition("/")[0]


def compress(pieces: Iterable[bytes], level: int, about_bytes: int) -> Frame:
    """One frame of all pieces, which are asked for one after the other."""
    parameters = _parameters(level, about_bytes)
    compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    data, inflated_bytes = bytearray(), 0
    for piece in pieces:
        data += compressor.compress(piece)
        inflated_bytes += len(piece)
    data += compressor.flush()
    return Frame(data, inflated_bytes)


def _parameters(level: int, about_bytes: int) -> zstandard.ZstdCompressionParameters:
    usual = zstandard.ZstdCompressionParameters.from_level(level, source_size=about_bytes)
    hard = level >= _LEVEL_OF_TABLES
    return zstandard.ZstdCompressionParameters.from_level(
        level,
        source_size=about_bytes,
        window_log=_WINDOW_LOG if hard else _WINDOW_LOG_SMALL,
        hash_log=_HASH_LOG if hard else usual.hash_log,
        chain_log=_CHAIN_LOG if hard else usual.chain_log,
        min_match=usual.min_match if hard else max(usual.min_match, _MATCH_MIN),
        write_checksum=True,
    )


def inflate(frame: bytes, promised_bytes: int) -> bytes:
    """The content of the frame, which must be all of the given bytes. Raises FrameDamaged."""
    try:
        if zstandard.frame_content_size(frame) not in (promised_bytes, -1):
            raise FrameDamaged(f"does not inflate to its {promised_bytes} bytes")
        inflater = zstandard.ZstdDecompressor(max_window_size=1 << _WINDOW_LOG_MAX)
        body = inflater.decompress(frame, max_output_size=promised_bytes, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise FrameDamaged(f"is damaged: {error}") from error
    if len(body) != promised_bytes:
        raise FrameDamaged(f"does not inflate to its {promised_bytes} bytes")
    return body
