"""Messages on a stream: four bytes of length, then the message."""

from __future__ import annotations

import asyncio
import struct

READY = b"ready"  # an agent's first message
_LENGTH = struct.Struct(">I")


def write_frame(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(_LENGTH.pack(len(data)) + data)


async def read_frame(reader: asyncio.StreamReader) -> bytes | None:
    """The next message; None when the other side is gone."""
    try:
        (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
        return await reader.readexactly(length)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
