"""Records -> the bytes of a package, and back; and the file that holds them.

Law: a package is named by what it holds (SHA-256) and numbered by who sent it (crawler, sequence). What
does not unpack to the last byte within the caps is refused whole, with a reason; nothing of it is used.
The format is described in docs/reference/package-format.md.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import zstandard

from ipmicra.carrier.layout import Columns, Encoded, encoded_columns
from ipmicra.carrier.reading import records_of
from ipmicra.carrier.record import PageSeen, Record
from ipmicra.errors import HostFault

MAGIC = b"ipmicra\x02"  # the last byte is the version of the format
_READ = frozenset({1, 2})  # version 1 had no changes, only whole pages
_HEADER_LENGTH = struct.Struct("<I")
_HEADER_BYTES_MAX = 4096
LEVEL_FOR_ALIKE = 5
LEVEL_FOR_VARIED = 11
_PAGES_OF_A_SITE_ALIKE = (
    10  # on average, from which on a package repeats itself so much that a lower level will do
)
_WINDOW_LOG = (
    24  # 16 MiB: most of a package, so that its first page helps its last; the compressor keeps it
)
_WINDOW_LOG_SMALL = 22  # enough where the tables hold no more: pages of a site stand together
_WINDOW_LOG_MAX = 27
_HASH_LOG, _CHAIN_LOG = (
    22,
    21,
)  # 24 MiB of tables: with them a level does what the next one does, in less time
_LEVEL_OF_TABLES = 8  # below it, larger tables cost more time and memory than they save bytes
_MATCH_MIN = 6  # below it too: pages alike share phrases, and looking for less costs time and bytes

_encode = msgspec.msgpack.Encoder().encode
_decode_columns = msgspec.msgpack.Decoder(Columns).decode


class PackageRefused(HostFault):
    """The bytes are no package, a damaged one, or one beyond the caps."""


class Header(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What can be known of a package without inflating it."""

    crawler: str
    sequence: int
    records: int
    inflated_bytes: int


class UnpackCaps(msgspec.Struct, frozen=True, kw_only=True):
    """What an unpacked package may cost at most."""

    package_bytes_max: int = 64 * 1024 * 1024
    inflated_bytes_max: int = 256 * 1024 * 1024
    records_max: int = 100_000


class Package(NamedTuple):
    header: Header
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


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def packages_in(folder: Path) -> list[PackageFile]:
    """The packages of one spool, oldest first. What is not named like one is somebody else's file."""
    paths = [path for path in folder.glob(f"[0-9]*-*{SUFFIX}") if path.name.partition("-")[0].isdigit()]
    return sorted(map(PackageFile.at, paths))


def pack(records: Sequence[Record], crawler: str, sequence: int, level: int = 0) -> bytes:
    """The bytes of a package; the same records give the same bytes. Level 0 is that of `level_for`."""
    body = encoded_columns(records)
    header = Header(crawler=crawler, sequence=sequence, records=len(records), inflated_bytes=body.length)
    head = _encode(header)
    compressed = _compressed(body, level or level_for(records))
    return b"".join((MAGIC, _HEADER_LENGTH.pack(len(head)), head, *compressed))


def level_for(records: Sequence[Record]) -> int:
    """How hard to compress.

    Many pages of a site are crawled fast, by a grant, and repeat each other; pages of many sites come slowly,
    as politeness has it, and differ: there a harder level saves a quarter of the bytes.
    """
    sites = [record.url.split("/", 3)[2:3] for record in records if isinstance(record, PageSeen)]
    alike = len(sites) >= _PAGES_OF_A_SITE_ALIKE * len({site[0] for site in sites if site})
    return LEVEL_FOR_ALIKE if sites and alike else LEVEL_FOR_VARIED


def _compressed(body: Encoded, level: int) -> list[bytes]:
    usual = zstandard.ZstdCompressionParameters.from_level(level, source_size=body.length)
    hard = level >= _LEVEL_OF_TABLES
    parameters = zstandard.ZstdCompressionParameters.from_level(
        level,
        source_size=body.length,
        window_log=_WINDOW_LOG if hard else _WINDOW_LOG_SMALL,
        hash_log=_HASH_LOG if hard else usual.hash_log,
        chain_log=_CHAIN_LOG if hard else usual.chain_log,
        min_match=usual.min_match if hard else max(usual.min_match, _MATCH_MIN),
        write_checksum=True,
    )
    compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj(size=body.length)
    return [*[compressor.compress(piece) for piece in body.pieces], compressor.flush()]


def unpack(data: bytes, caps: UnpackCaps = UnpackCaps()) -> Package:  # noqa: B008 - frozen
    """All records of a package, or PackageRefused."""
    header, body_at = read_header(data, caps)
    body = _inflated(data[body_at:], header)
    try:
        records = records_of(_decode_columns(body))
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError) as error:
        raise PackageRefused(f"unpacking a package of {header.crawler!r}: {error}") from error
    if len(records) != header.records:
        raise PackageRefused(
            f"a package of {header.crawler!r} promises {header.records} records, holds {len(records)}"
        )
    return Package(header, records)


def read_header(data: bytes, caps: UnpackCaps = UnpackCaps()) -> tuple[Header, int]:  # noqa: B008 - frozen
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


def _checked_header(data: bytes, caps: UnpackCaps) -> Header:
    try:
        header = msgspec.msgpack.decode(data, type=Header)
    except msgspec.MsgspecError as error:
        raise PackageRefused(f"a package whose header cannot be read: {error}") from error
    if (
        not 0 <= header.records <= caps.records_max
        or not 0 <= header.inflated_bytes <= caps.inflated_bytes_max
    ):
        raise PackageRefused(
            f"a package of {header.crawler!r} with {header.records} records, "
            f"{header.inflated_bytes} bytes; "
            f"at most {caps.records_max} and {caps.inflated_bytes_max} are taken"
        )
    return header


def _inflated(body: bytes, header: Header) -> bytes:
    """The body, never inflated beyond what the header promised (and the caps allowed)."""
    try:
        promised = zstandard.frame_content_size(body)
        if promised != header.inflated_bytes:
            raise PackageRefused(
                f"a package of {header.crawler!r} does not inflate to its {header.inflated_bytes} bytes"
            )
        inflater = zstandard.ZstdDecompressor(max_window_size=1 << _WINDOW_LOG_MAX)
        return inflater.decompress(body, max_output_size=promised, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise PackageRefused(f"a package of {header.crawler!r} is damaged: {error}") from error
