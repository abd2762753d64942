"""Batches of records -> frames at the end of one file, each synced before it counts, and back.

Law: a frame that is whole has its length and its CRC right; what follows the last whole frame was being
written when the process died, and is cut off.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from pathlib import Path

import msgspec
from isal import isal_zlib

from ipmicra.carrier.record import Record
from ipmicra.errors import HostFault

_FRAME = struct.Struct("<II")  # bytes of the payload, their CRC-32
_encode_into = msgspec.msgpack.Encoder().encode_into
_decode = msgspec.msgpack.Decoder(list[Record]).decode


class Journal:
    """One journal file, open for appending. `records` is all that it holds."""

    def __init__(self, path: Path, keep_bytes: int | None) -> None:
        """Open or create; keep the first `keep_bytes`, or every whole frame where that is None."""
        self.path = path
        self.records: list[Record] = []
        self.written_bytes = 0
        self._frame = bytearray(_FRAME.size)  # used again: new memory costs half as much as encoding
        self._file = path.open("ab")
        try:
            self._read_back(keep_bytes)
        except BaseException:
            self._file.close()
            raise

    def append(self, records: Sequence[Record]) -> None:
        frame = self._frame
        _encode_into(records, frame, _FRAME.size)
        with memoryview(frame) as whole:
            payload = whole[_FRAME.size :]
            _FRAME.pack_into(frame, 0, len(payload), isal_zlib.crc32(payload))
            payload.release()
        self._file.write(frame)
        self._file.flush()
        os.fdatasync(self._file.fileno())
        self.written_bytes += len(frame)
        self.records.extend(records)

    def close(self) -> None:
        self._file.close()

    def _read_back(self, keep_bytes: int | None) -> None:
        data = self.path.read_bytes()
        end = len(data) if keep_bytes is None else keep_bytes
        while (frame := _frame_at(data, self.written_bytes, end)) is not None:
            self.records.extend(_decode(frame))
            self.written_bytes += _FRAME.size + len(frame)
        if keep_bytes is not None and self.written_bytes != keep_bytes:
            raise HostFault(
                f"opening the journal {self.path}: {keep_bytes} bytes were committed, "
                f"{self.written_bytes} are whole; restore it together with the frontier it belongs to"
            )
        self._file.truncate(self.written_bytes)


def _frame_at(data: bytes, start: int, end: int) -> bytes | None:
    """The payload of the frame at `start`, or None where no whole frame ends by `end`."""
    if start + _FRAME.size > min(end, len(data)):
        return None
    length, checksum = _FRAME.unpack_from(data, start)
    payload = data[start + _FRAME.size : start + _FRAME.size + length]
    if start + _FRAME.size + length > min(end, len(data)) or isal_zlib.crc32(payload) != checksum:
        return None
    return payload
