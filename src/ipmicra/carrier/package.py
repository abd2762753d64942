"""Records -> the bytes of a package, and back; and the file that holds them.

Invariant: a package is named by its content (SHA-256) and numbered by its sender (crawler, sequence). A
package that does not unpack to the last byte within the caps is refused as a whole, with a reason;
nothing of it is used. The format is described in docs/reference/package-format.md.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Iterator, Sequence
from mmap import mmap
from pathlib import Path
from typing import NamedTuple

import msgspec
from isal import isal_zlib

from ipmicra.carrier.format.column_decoder import records_of
from ipmicra.carrier.format.column_encoder import ColumnEncoder, PackageColumns
from ipmicra.carrier.format.compression import FrameDamaged, compress, inflate, level_for
from ipmicra.carrier.format.format_v1_v2 import EarlierColumns, records_of_earlier
from ipmicra.carrier.format.record_order import OrderKey, sort_for_compression
from ipmicra.carrier.ranges import check_ranges
from ipmicra.errors import HostFault
from ipmicra.model.records import PageSeen, Record
from ipmicra.protocol.foreign_bytes import UNREADABLE

MAGIC = b"ipmicra\x03"  # the last byte is the version of the format
_READ = frozenset({1, 2, 3})  # in 2 words were columns; 1 had no changes either
_HEADER_LENGTH = struct.Struct("<I")
_HEADER_BYTES_MAX = 4096
SEQUENCE_MAX = 1 << 53
_PIECE_BYTES = 1 << 19  # that are compressed at once
_INSTEAD_OF_NUL = "\ufffd".encode()

_encode = msgspec.msgpack.Encoder().encode
_decode_columns = msgspec.msgpack.Decoder(PackageColumns).decode
_decode_earlier = msgspec.msgpack.Decoder(EarlierColumns).decode


class PackageRefused(HostFault):
    """The bytes are not a package, are damaged, or exceed the caps."""


class PackageHeader(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """The facts about a package that are known without inflating it."""

    crawler: str
    sequence: int
    records: int
    inflated_bytes: int
    words_bytes: int = 0  # at the beginning of the body; then come the columns
    frame_crc: int = 0  # CRC-32 of the compressed body, of which zstd itself leaves some bits unchecked


class UnpackCaps(msgspec.Struct, frozen=True, kw_only=True):
    """Upper bounds on an unpacked package."""

    package_bytes_max: int = 64 * 1024 * 1024
    inflated_bytes_max: int = 256 * 1024 * 1024
    records_max: int = 100_000


class Package(NamedTuple):
    header: PackageHeader
    records: list[Record]


class PackageFile(NamedTuple):
    """A package on disk. Sorts by sequence."""

    sequence: int
    digest: str
    path: Path

    @classmethod
    def at(cls, path: Path) -> PackageFile:
        sequence, dash, digest = path.name.removesuffix(SUFFIX).partition("-")
        if not dash or not sequence.isdigit() or path.suffix != SUFFIX:
            raise ValueError(f"{path.name} is not a package's name")
        return cls(int(sequence), digest, path)


SUFFIX = ".package"


def package_name(sequence: int, digest: str) -> str:
    return f"{sequence:010d}-{digest}{SUFFIX}"


def digest_of(*parts: bytes | bytearray | mmap) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def packages_in(folder: Path) -> list[PackageFile]:
    """The packages of one spool, oldest first. Files with other names are ignored."""
    paths = [path for path in folder.glob(f"[0-9]*-*{SUFFIX}") if path.name.partition("-")[0].isdigit()]
    return sorted(map(PackageFile.at, paths))


class PackageContents(NamedTuple):
    """The contents of a package."""

    others: Sequence[Record]
    urls: list[str]  # of the pages
    pages: Iterable[PageSeen]  # asked for once, one after the other, as `arranged`
    about_bytes: int  # of the pages: what the compressor is to expect


def contents_of(records: Sequence[Record]) -> PackageContents:
    pages = sort_for_compression(
        (record for record in records if isinstance(record, PageSeen)),
        lambda record: OrderKey(record.page.language, record.url, record.visit),
    )
    others = [record for record in records if not isinstance(record, PageSeen)]
    about_bytes = sum(len(record.page.text) for record in pages)
    return PackageContents(others, [record.url for record in pages], pages, about_bytes)


def pack(records: Sequence[Record], crawler: str, sequence: int, level: int = 0) -> bytes:
    """The bytes of a package; the same records give the same bytes. Level 0 is that of `level_for`."""
    return b"".join(pack_contents(contents_of(records), crawler, sequence, level))


def pack_contents(
    contents: PackageContents, crawler: str, sequence: int, level: int = 0
) -> tuple[bytes | bytearray, ...]:
    """The same, in parts that are written one after the other."""
    level = level or level_for(contents.urls)
    body = _Body(contents)
    frame = compress(body.pieces(), level, contents.about_bytes)
    header = PackageHeader(
        crawler=crawler,
        sequence=sequence,
        records=len(contents.others) + len(contents.urls),
        inflated_bytes=frame.inflated_bytes,
        words_bytes=body.words_bytes,
        frame_crc=isal_zlib.crc32(frame.data),
    )
    head = _encode(header)
    return MAGIC + _HEADER_LENGTH.pack(len(head)) + head, frame.data


class _Body:
    """Pages -> their words as they come, joined by NUL, and then the columns. No page is kept."""

    def __init__(self, contents: PackageContents) -> None:
        self._contents = contents
        self.words_bytes = 0  # so far

    def pieces(self) -> Iterator[bytes]:
        """Of some size, since the compressor likes to be asked seldom."""
        layout = ColumnEncoder()
        gathered, size = list[bytes](), 0
        for record in self._contents.pages:
            words = layout.add(record).encode()
            gathered.append(words.replace(b"\0", _INSTEAD_OF_NUL) if b"\0" in words else words)
            size += len(words)
            if size >= _PIECE_BYTES:
                yield self._join(gathered)
                gathered, size = [b""], 0
        yield self._join(gathered)
        yield _encode(layout.columns(self._contents.others))

    def _join(self, words: list[bytes]) -> bytes:
        joined = b"\0".join(words)
        self.words_bytes += len(joined)
        return joined


def unpack(data: bytes, caps: UnpackCaps = UnpackCaps()) -> Package:  # noqa: B008 - frozen
    """All records of a package, or PackageRefused."""
    header, body_at = read_header(data, caps)
    version, frame = data[len(MAGIC) - 1], data[body_at:]
    if version == MAGIC[-1] and isal_zlib.crc32(frame) != header.frame_crc:
        raise PackageRefused(
            f"a package of {header.crawler!r} is damaged: its bytes are not those it was made of"
        )
    try:
        records = _records(version, inflate(frame, header.inflated_bytes), header)
        check_ranges(records)
    except FrameDamaged as error:
        raise PackageRefused(f"a package of {header.crawler!r} {error}") from error
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError) as error:
        raise PackageRefused(f"unpacking a package of {header.crawler!r}: {error}") from error
    return Package(header, records)


def _records(version: int, body: bytes, header: PackageHeader) -> list[Record]:
    if version < MAGIC[-1]:
        earlier = _decode_earlier(body)
        _check_count(header, len(earlier.visits) + len(earlier.others))
        _check_others(earlier.others)
        return records_of_earlier(earlier)
    view = memoryview(body)
    columns = _decode_columns(view[header.words_bytes :])
    _check_count(header, len(columns.visits) + len(columns.others))
    _check_others(columns.others)
    return records_of(columns, view[: header.words_bytes])


def _check_others(others: Iterable[Record]) -> None:
    """A page stands in the columns, where its content hash is computed; elsewhere it would bring its own."""
    for record in others:
        if isinstance(record, PageSeen):
            raise ValueError(f"{record.url[:100]}: a whole page among the other records")


def _check_count(header: PackageHeader, records: int) -> None:
    if records != header.records:
        raise PackageRefused(
            f"a package of {header.crawler!r} promises {header.records} records, holds {records}"
        )


def read_header(data: bytes, caps: UnpackCaps = UnpackCaps()) -> tuple[PackageHeader, int]:  # noqa: B008 - frozen
    """The header and where the body begins; PackageRefused where either is beyond the caps."""
    if len(data) > caps.package_bytes_max:
        raise PackageRefused(
            f"a package of {len(data)} bytes; at most {caps.package_bytes_max} are taken"
        )
    if data[: len(MAGIC) - 1] != MAGIC[:-1]:
        raise PackageRefused("not a package: it does not begin like one")
    start = len(MAGIC) + _HEADER_LENGTH.size
    if len(data) < start:
        raise PackageRefused("a package that ends within its header")
    if data[len(MAGIC) - 1] not in _READ:
        raise PackageRefused(
            f"a package of format {data[len(MAGIC) - 1]}; this program reads {MAGIC[-1]} and older"
        )
    (length,) = _HEADER_LENGTH.unpack_from(data, len(MAGIC))
    if length > _HEADER_BYTES_MAX or start + length > len(data):
        raise PackageRefused("a package whose header has an impossible length")
    return _checked_header(data[start : start + length], caps), start + length


def _checked_header(data: bytes, caps: UnpackCaps) -> PackageHeader:
    try:
        header = msgspec.msgpack.decode(data, type=PackageHeader)
    except UNREADABLE as error:
        raise PackageRefused(f"a package whose header cannot be read: {error}") from error
    if (
        not 0 <= header.sequence < SEQUENCE_MAX
        or not 0 <= header.records <= caps.records_max
        or not 0 <= header.inflated_bytes <= caps.inflated_bytes_max
    ):
        raise PackageRefused(
            f"package {header.sequence} of {header.crawler[:100]!r} with {header.records} records, "
            f"{header.inflated_bytes} bytes; "
            f"at most {caps.records_max} and {caps.inflated_bytes_max} are taken"
        )
    if not 0 <= header.words_bytes <= header.inflated_bytes:
        raise PackageRefused(
            f"a package of {header.crawler!r} with {header.words_bytes} bytes of words "
            f"among {header.inflated_bytes}"
        )
    return header
