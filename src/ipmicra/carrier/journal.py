"""Batches of records -> frames at the end of one file, each synced before it counts, and back.

Invariant: a frame that is whole has its length and its CRC right; what follows the last whole frame was
being written when the process died, and is closed. Records are in the file only: memory holds where they
are.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import FileIO
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec
from isal import isal_zlib

from ipmicra.carrier.format.compression import are_alike, site_part
from ipmicra.carrier.format.record_order import OrderKey, sort_for_compression
from ipmicra.carrier.package import PackageContents
from ipmicra.errors import HostFault
from ipmicra.model.records import FetchMeasurement, PageSeen, Record

_FRAME = struct.Struct("<II")  # bytes of the payload, their CRC-32
_Read = TypeVar("_Read", bound=Record)
_encode_into = msgspec.msgpack.Encoder().encode_into
_decode = msgspec.msgpack.Decoder(Record).decode
_decode_page = msgspec.msgpack.Decoder(PageSeen).decode
_decode_batch = msgspec.msgpack.Decoder(list[Record]).decode
_divide = msgspec.msgpack.Decoder(list[msgspec.Raw]).decode


class JournalEntry(NamedTuple):
    """Where in its journal a record is."""

    start: int
    length: int
    is_page: bool
    url: str = ""
    visit: int = 0
    language: str = ""  # of a page


class Journal:
    """One journal file, open for appending. `entries` is all that it holds."""

    def __init__(self, path: Path, keep_bytes: int | None) -> None:
        """Open or create; keep the first `keep_bytes`, or every whole frame where that is None."""
        self.path = path
        self.entries: list[JournalEntry] = []
        self._pages, self._sites = 0, set[str]()
        self.written_bytes = 0
        self._frame = bytearray(_FRAME.size)  # used again: new memory costs half as much as encoding
        self._file = path.open("ab")
        try:
            self._read_back(keep_bytes)
        except BaseException:
            self._file.close()
            raise

    @property
    def is_varied(self) -> bool:
        """Whether its pages are of many sites."""
        return not are_alike(self._pages, len(self._sites))

    def append(self, records: Sequence[Record]) -> None:
        frame = self._frame
        _encode_into(records, frame, _FRAME.size)
        with memoryview(frame) as whole, whole[_FRAME.size :] as payload:
            _FRAME.pack_into(frame, 0, len(payload), isal_zlib.crc32(payload))
            lengths = _lengths(payload)
        self._file.write(frame)
        self._file.flush()
        os.fdatasync(self._file.fileno())
        self._count(len(frame), lengths, records)

    def close(self) -> None:
        self._file.close()

    def _read_back(self, keep_bytes: int | None) -> None:
        for payload in _payloads(self.path, keep_bytes):
            self._count(_FRAME.size + len(payload), _lengths(payload), _decode_batch(payload))
        if keep_bytes is not None and self.written_bytes != keep_bytes:
            raise HostFault(
                f"opening the journal {self.path}: {keep_bytes} bytes were committed, "
                f"{self.written_bytes} are whole; restore it together with the frontier it belongs to"
            )
        self._file.truncate(self.written_bytes)

    def _count(self, frame_bytes: int, lengths: list[int], records: Sequence[Record]) -> None:
        """One more frame is written, which ends with records of these lengths."""
        self.written_bytes += frame_bytes
        first = self.written_bytes - sum(lengths)
        entries = list(map(_entry, accumulate(lengths, initial=first), lengths, records))
        urls = [entry.url for entry in entries if entry.is_page]
        self.entries += entries
        self._pages += len(urls)
        self._sites.update(map(site_part, urls))


def _lengths(payload: bytes | memoryview) -> list[int]:
    """Of the records in a payload."""
    return [memoryview(part).nbytes for part in _divide(payload)]


def _entry(start: int, length: int, record: Record) -> JournalEntry:
    if isinstance(record, FetchMeasurement):
        return JournalEntry(start, length, is_page=False)
    if isinstance(record, PageSeen):
        return JournalEntry(start, length, True, record.url, record.visit, record.page.language)
    return JournalEntry(start, length, False, record.url, record.visit)


@contextmanager
def contents_in(path: Path, entries: Sequence[JournalEntry]) -> Iterator[PackageContents]:
    """The contents of the journal, to be packed; its pages are read one by one while the file is open."""
    pages = sort_for_compression(
        (entry for entry in entries if entry.is_page),
        lambda entry: OrderKey(entry.language, entry.url, entry.visit),
    )
    with path.open("rb", buffering=0) as file:
        others = [entry for entry in entries if not entry.is_page]
        yield PackageContents(
            [_read(file, entry, _decode) for entry in others],
            [entry.url for entry in pages],
            (_read(file, entry, _decode_page) for entry in pages),
            sum(entry.length for entry in pages),
        )


def _read(file: FileIO, entry: JournalEntry, decode: Callable[[bytes], _Read]) -> _Read:
    try:
        return decode(os.pread(file.fileno(), entry.length, entry.start))
    except msgspec.MsgspecError as error:
        raise HostFault(
            f"reading the journal {file.name!s} back: {entry.url!r} is not as it was written: {error}; "
            "the disk may be failing"
        ) from error


def _payloads(path: Path, end: int | None) -> Iterator[bytes]:
    """Those of the whole frames, one at a time, as far as they end by `end`."""
    with path.open("rb") as file:
        left = os.fstat(file.fileno()).st_size
        left = left if end is None else min(left, end)
        while left >= _FRAME.size:
            length, checksum = _FRAME.unpack(file.read(_FRAME.size))
            left -= _FRAME.size + length
            if left < 0:
                return
            payload = file.read(length)
            if isal_zlib.crc32(payload) != checksum:
                return
            yield payload
