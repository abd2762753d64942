"""The contents of a file -> blocks of whole records with their line numbers.

Invariant: memory is bounded by the block, not by the file and not by its longest line. A record that is
longer than RECORD_BYTES_MAX is counted as malformed and skipped while it streams by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ipmicra.registry.decompression import DAMAGE, Readable
from ipmicra.registry.parsers.parse_statistics import Tally

BLOCK_BYTES = 1 << 21  # RPSL: 84 MB/s at half of it, no more than noise gained at four times
RECORD_BYTES_MAX = 1 << 20  # far above any object we know of; bounds the memory

LONGEST_SEPARATOR_BYTES = 16


class Block(NamedTuple):
    """Whole records with "\\n" line ends; `line` is the number of the first line."""

    text: bytes
    line: int


def blocks(
    stream: Readable,
    separators: tuple[bytes, ...],
    name: str,
    tally: Tally,
    advance: Callable[[], None] = lambda: None,
) -> Iterator[Block]:
    """Cut the stream into blocks of whole records; a record ends with one of the separators.

    `advance` is called after each read, for progress bars.
    """
    rest, line = b"", 1
    overlong = False  # inside a record that is too long already
    for chunk in _chunks(stream, name, tally):
        advance()
        text = rest + chunk
        if overlong:
            end = _first_end(text, separators)
            line += text.count(b"\n", 0, end)
            text, overlong = text[end:], end == 0
        cut = _last_end(text, separators)
        rest = text[cut:]
        if cut:
            yield Block(text[:cut], line)
            line += text.count(b"\n", 0, cut)
        if len(rest) > RECORD_BYTES_MAX:
            if not overlong:
                tally.count_malformed("too-long", name, line, rest)
            overlong, kept = True, rest[-LONGEST_SEPARATOR_BYTES:]
            line += rest.count(b"\n") - kept.count(b"\n")
            rest = kept
    if rest.strip() and not overlong:
        yield Block(rest, line)


def _first_end(text: bytes, separators: tuple[bytes, ...]) -> int:
    """Where the first separator ends; 0 if there is none."""
    ends = (text.find(separator) + len(separator) for separator in separators if separator in text)
    return min(ends, default=0)


def _last_end(text: bytes, separators: tuple[bytes, ...]) -> int:
    """Where the last separator ends; 0 if there is none."""
    ends = (text.rfind(separator) + len(separator) for separator in separators if separator in text)
    return max(ends, default=0)


def _chunks(stream: Readable, name: str, tally: Tally) -> Iterator[bytes]:
    """Pieces of the contents with "\\n" line ends; damage ends them and is counted."""
    held = b""  # a "\r" whose "\n" may come with the next piece
    lines = 0
    while True:
        try:
            chunk = held + stream.read(BLOCK_BYTES)
        except DAMAGE as error:
            tally.count_malformed("damaged-file", name, lines + 1, str(error).encode())
            chunk = held
        if len(chunk) == len(held):
            yield held
            return
        held = b""
        lines += chunk.count(b"\n")
        if b"\r" in chunk:
            if chunk.endswith(b"\r"):
                chunk, held = chunk[:-1], b"\r"
            chunk = chunk.replace(b"\r\n", b"\n")
        yield chunk
