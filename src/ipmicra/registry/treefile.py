"""A tree of subnets -> a file that opens as a map, and back.

Layout: 28 bytes of preamble (magic, version, length and checksum of the header), the header in JSON
(size of the file, the sections, what the writer had to say about the tree), then the sections: the
arrays as they lie in memory, little-endian. `docs/reference/tree-file.md` has the details.

Laws: a file is replaced whole or not at all, and only by one that was read back and found right. A file
that is newer, cut short or has a damaged header is refused at opening, which is a map: not a page of the
sections is read. Every section is under a checksum too; `checks_every_byte` compares them.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec
import numpy as np
from isal.isal_zlib import crc32
from numpy.typing import NDArray

from ipmicra.errors import HostFault, OperatorFault
from ipmicra.hierarchy.columns import TreeColumns, TreeNames
from ipmicra.hierarchy.texts import PackedTexts
from ipmicra.hierarchy.tree import SubnetTree

VERSION = 1
MAGIC = b"ipmicra tree"
PREAMBLE = struct.Struct("<12sIQI")  # magic, version, header bytes, header checksum
ALIGNMENT_BYTES = 64  # a cache line, and more than any array's element needs

Array = NDArray[Any]  # of the type that its section names


class TreeFileRefused(OperatorFault):
    """The file is not a tree that this program can trust."""


class Section(msgspec.Struct, frozen=True):
    """One array: where it lies, counted from the first section, and what it must add up to."""

    name: str
    kind: str
    offset: int
    count: int
    checksum: int

    @property
    def size_bytes(self) -> int:
        return np.dtype(self.kind).itemsize * self.count


class TreeFileHeader(msgspec.Struct, frozen=True):
    file_bytes: int
    sections: list[Section]
    about: dict[str, object]


class TreeFile(NamedTuple):
    """A tree, and what its writer had to say about it (when, from what, what was skipped)."""

    tree: SubnetTree
    about: dict[str, object]


def write_tree(path: Path, tree: SubnetTree, about: Mapping[str, object]) -> None:
    """Replace the file at once: a reader always finds the old tree or the new one."""
    arrays = dict(_arrays(tree))
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("wb") as file:
            _write(file, arrays, dict(about))
            file.flush()
            os.fsync(file.fileno())
        open_tree(beside, checks_every_byte=True)
        beside.replace(path)
        _sync_folder(path.parent)
    except (OSError, TreeFileRefused) as fault:
        message = f"could not write the tree to {path}: {fault}. The old tree, if any, stays."
        raise HostFault(message) from fault
    finally:
        with suppress(OSError):  # it is gone where all went well
            beside.unlink()


def open_tree(path: Path, *, checks_every_byte: bool = False) -> TreeFile:
    """Map the file. Without `checks_every_byte` damage inside a section goes unnoticed."""
    try:
        with path.open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError as fault:
        raise OperatorFault(
            f"there is no tree at {path}; make one with: ipmicra registry build"
        ) from fault
    except (OSError, ValueError) as fault:
        raise TreeFileRefused(f"could not open the tree {path}: {fault}") from fault
    header, begin = _header(path, content)
    arrays = {
        section.name: _array(path, content, begin, section, checks_every_byte)
        for section in header.sections
    }
    return TreeFile(_tree(path, arrays), header.about)


# --- writing ---


def _arrays(tree: SubnetTree) -> Iterator[tuple[str, Array]]:
    for field in fields(TreeColumns):
        yield field.name, getattr(tree.columns, field.name)
    for field in fields(TreeNames):
        texts: PackedTexts = getattr(tree.names, field.name)
        yield f"names.{field.name}.bounds", texts.bounds
        yield f"names.{field.name}.letters", texts.letters


def _write(file: BinaryIO, arrays: dict[str, Array], about: dict[str, object]) -> None:
    sections, size = _sections(arrays)
    # The header holds the size of the file, which depends on its own length: leave room for the digits.
    room = len(msgspec.json.encode(TreeFileHeader((1 << 63) - 1, sections, about)))
    begin = _aligned(PREAMBLE.size + room)
    header = msgspec.json.encode(TreeFileHeader(begin + size, sections, about)).ljust(room)
    file.write(PREAMBLE.pack(MAGIC, VERSION, len(header), crc32(header)))
    file.write(header)
    for section in sections:
        file.write(b"\0" * (begin + section.offset - file.tell()))
        file.write(arrays[section.name].data)
    file.write(b"\0" * (begin + size - file.tell()))


def _sections(arrays: dict[str, Array]) -> tuple[list[Section], int]:
    sections: list[Section] = []
    offset = 0
    for name, array in arrays.items():
        sections.append(Section(name, array.dtype.str, offset, len(array), crc32(array.data)))
        offset = _aligned(offset + array.nbytes)
    return sections, offset


def _aligned(offset: int) -> int:
    return -(-offset // ALIGNMENT_BYTES) * ALIGNMENT_BYTES


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# --- reading ---


def _header(path: Path, content: mmap.mmap) -> tuple[TreeFileHeader, int]:
    """The header, and where the sections begin."""
    if len(content) < PREAMBLE.size or content[: len(MAGIC)] != MAGIC:
        raise TreeFileRefused(f"{path} is not a tree of subnets; make one with: ipmicra registry build")
    _, version, header_bytes, checksum = PREAMBLE.unpack_from(content)
    if version != VERSION:
        raise TreeFileRefused(
            f"the tree {path} has format version {version}, this program reads version {VERSION}; "
            + ("upgrade ipmicra, or " if version > VERSION else "")
            + "build the tree anew with: ipmicra registry build"
        )
    encoded = content[PREAMBLE.size : PREAMBLE.size + header_bytes]
    if crc32(encoded) != checksum:
        raise _damaged(path, "its header does not match its checksum")
    header = msgspec.json.decode(encoded, type=TreeFileHeader)
    if header.file_bytes != len(content):
        raise _damaged(path, f"it should have {header.file_bytes} bytes and has {len(content)}")
    return header, _aligned(PREAMBLE.size + header_bytes)


def _array(path: Path, content: mmap.mmap, begin: int, section: Section, is_to_check: bool) -> Array:
    offset = begin + section.offset
    if is_to_check:
        with memoryview(content) as whole, whole[offset : offset + section.size_bytes] as part:
            if crc32(part) != section.checksum:
                raise _damaged(path, f"its section {section.name} does not match its checksum")
    return np.frombuffer(content, section.kind, section.count, offset)


def _tree(path: Path, arrays: dict[str, Array]) -> SubnetTree:
    try:
        columns = TreeColumns(**{field.name: arrays[field.name] for field in fields(TreeColumns)})
        names = TreeNames(
            **{
                field.name: PackedTexts(
                    arrays[f"names.{field.name}.bounds"], arrays[f"names.{field.name}.letters"]
                )
                for field in fields(TreeNames)
            }
        )
    except KeyError as missing:
        raise _damaged(path, f"it has no section {missing}") from missing
    return SubnetTree(columns, names)


def _damaged(path: Path, what: str) -> TreeFileRefused:
    return TreeFileRefused(
        f"the tree {path} is damaged: {what}; build it anew with: ipmicra registry build"
    )
