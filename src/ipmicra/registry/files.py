"""Files and folders -> all records in them.

Invariant: a file the operator names must be readable and in a known format; in a folder, files that are
not registry files (a README, a checksum) are left out and listed. Files are read in the order of trust
that `Allocations` needs, in whatever order they are named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, NamedTuple

from ipmicra.errors import OperatorFault
from ipmicra.registry.decompression import Readable, decompressed, head
from ipmicra.registry.formats import FORMATS, Format, format_of
from ipmicra.registry.parsers.accumulator import Accumulator
from ipmicra.registry.parsers.blocks import blocks


class RegistryFile(NamedTuple):
    """A file, and the format it was found to be in."""

    path: Path
    format: Format


class RegistryFiles(NamedTuple):
    """The files to read, and those that were left out."""

    files: list[RegistryFile]
    left_out: list[Path]


def registry_files(places: Iterable[Path]) -> RegistryFiles:
    """All registry files among files and folders (folders are searched to the bottom)."""
    files: dict[Path, Format] = {}
    left_out: list[Path] = []
    for place in places:
        for path in _files_at(place):
            form = _format(path)
            if form is not None:
                files[path.resolve()] = form
            elif path == place:
                raise OperatorFault(f"reading {path}: {_unknown_format()}")
            else:
                left_out.append(path)
    in_order = sorted(files.items(), key=lambda item: (item[1].doubt, item[0]))
    return RegistryFiles([RegistryFile(path, form) for path, form in in_order], left_out)


def _files_at(place: Path) -> list[Path]:
    if not place.exists():
        raise OperatorFault(f"reading registry files: {place} does not exist")
    if not place.is_dir():
        return [place]
    return sorted(path for path in place.rglob("*") if path.is_file() and path.name[0] != ".")


def _format(path: Path) -> Format | None:
    try:
        return format_of(head(path), path.name)
    except PermissionError as error:
        raise OperatorFault(f"reading {path}: {error.strerror}; make it readable") from error


def _unknown_format() -> str:
    known = ", ".join(form.name for form in FORMATS)
    return f"this is in no format that is known here ({known})"


def read_file(
    file: RegistryFile, gathering: Accumulator, progress: Callable[[int], None] = lambda read_bytes: None
) -> None:
    """Gather one file. `progress` receives the number of bytes read so far, as stored on disk."""
    with file.path.open("rb") as stream:
        contents = decompressed(stream)
        read_stream(contents, file.path.name, file.format, gathering, lambda: progress(_place(stream)))


def _place(stream: IO[bytes]) -> int:
    return stream.tell()


def read_stream(
    stream: Readable,
    name: str,
    form: Format,
    gathering: Accumulator,
    advance: Callable[[], None] = lambda: None,
) -> None:
    """Gather the contents of one file in any format."""
    gathering.begin_file(name)
    parser = form.parser(gathering, name)
    for block in blocks(stream, form.separators, name, gathering.tally, advance):
        parser.parse(block)
