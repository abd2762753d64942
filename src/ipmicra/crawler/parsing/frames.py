"""A job or what came of it <-> a frame: four bytes of length and MessagePack. The body of a job follows it
bare, in a frame of its own, so that a large page is not copied on its way.

Invariant: what a parser process says is data of a fixed type; a frame that is too long or of another type is
the end of that process.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TypeAlias

import msgspec

from ipmicra.crawler.parsing.jobs import ParsedPage, ParseJob

FRAME_BYTES_MAX = 256 << 20
PIECE_BYTES = 256 << 10
LENGTH = struct.Struct("<I")


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """The process has started, and is confined."""


class Defect(msgspec.Struct, frozen=True, tag="defect"):
    """Our own code failed at the page."""

    why: str


class Done(msgspec.Struct, frozen=True, tag="done"):
    parsed: ParsedPage


ParserReply: TypeAlias = Ready | Defect | Done

_encode = msgspec.msgpack.Encoder().encode
decode_job = msgspec.msgpack.Decoder(ParseJob).decode
decode_reply = msgspec.msgpack.Decoder(ParserReply).decode


def frame(message: ParseJob | ParserReply) -> tuple[bytes, bytes]:
    """Its two parts, which are not joined: that would be one more copy of a large page."""
    data = _encode(message)
    return LENGTH.pack(len(data)), data


def job_pieces(job: ParseJob) -> Iterator[bytes | memoryview]:
    """Frames of the job and of its body, in pieces."""
    yield from frame(msgspec.structs.replace(job, body=b""))
    yield LENGTH.pack(len(job.body))
    body = memoryview(job.body)
    for at in range(0, len(body), PIECE_BYTES):
        yield body[at : at + PIECE_BYTES]
