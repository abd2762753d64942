"""What a program asked of its file system, one value per kind. Paths are absolute."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import NamedTuple, TypeAlias


class Open(NamedTuple):
    """A file was opened to be written; it is created where it is missing."""

    path: PurePosixPath
    creates: bool
    truncates: bool


class Write(NamedTuple):
    path: PurePosixPath
    offset: int | None  # None: at the end
    data: bytes


class Resize(NamedTuple):
    path: PurePosixPath
    size: int
    only_grows: bool = False


class MakeFolder(NamedTuple):
    path: PurePosixPath


class Remove(NamedTuple):
    """A file or an empty folder."""

    path: PurePosixPath


class Rename(NamedTuple):
    source: PurePosixPath
    target: PurePosixPath


class Link(NamedTuple):
    source: PurePosixPath
    target: PurePosixPath


class Sync(NamedTuple):
    """Of a file or a folder. None: of everything."""

    path: PurePosixPath | None


Operation: TypeAlias = Open | Write | Resize | MakeFolder | Remove | Rename | Link | Sync


class Recorded(NamedTuple):
    """`begun_s` is the wall clock when the kernel was asked; the order is that of the answers."""

    begun_s: float
    operation: Operation
