"""A site's part of the frontier, in chunks -> one compressed file for the hand-over, and back.

Invariant: a file gets its final name only when it is complete; incomplete or damaged data is refused as
a whole.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

import zstandard

from ipmicra.carrier.durable import make_folder, sync_folder
from ipmicra.errors import HostFault
from ipmicra.model.ids import SiteEpoch

FOLDER = "states"
_LENGTH = struct.Struct("<I")
_CHUNK_BYTES_MAX = 64 << 20
_END = 0xFFFF_FFFF  # instead of a further chunk's length
_LEVEL = 3


def write_state(folder: Path, site: str, epoch: SiteEpoch, chunks: Iterable[bytes]) -> str | None:
    """The name of a durable file with all chunks; None where there were none."""
    make_folder(folder)
    name = f"{hashlib.sha256(site.encode()).hexdigest()[:32]}-{epoch}.state"
    unfinished, count = folder / f".{name}", 0
    with (
        unfinished.open("wb") as file,
        zstandard.ZstdCompressor(_LEVEL).stream_writer(file, closefd=False) as writer,
    ):
        for chunk in chunks:
            writer.write(_LENGTH.pack(len(chunk)) + chunk)
            count += 1
        writer.write(_LENGTH.pack(_END))
        writer.flush(zstandard.FLUSH_FRAME)
        os.fsync(file.fileno())
    if not count:
        unfinished.unlink()
        return None
    unfinished.replace(folder / name)
    sync_folder(folder)
    return name


def chunks_in(data: bytes) -> Iterator[bytes]:
    """The chunks of a state. Raises HostFault if the data is not a state."""
    try:
        with zstandard.ZstdDecompressor().stream_reader(data) as reader:
            while (length := _LENGTH.unpack(reader.read(_LENGTH.size))[0]) != _END:
                if length > _CHUNK_BYTES_MAX:
                    raise HostFault(f"a site's state holds a chunk of {length} bytes")
                chunk = reader.read(length)
                if len(chunk) != length:
                    raise HostFault("a site's state ends in the middle")
                yield chunk
    except (zstandard.ZstdError, struct.error) as error:
        raise HostFault(f"a site's state cannot be read: {error}") from error
