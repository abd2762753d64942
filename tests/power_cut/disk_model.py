"""Operations on files -> what a disk may hold after a power cut.

The model of a conservative POSIX file system. What is certain: a file's bytes that were there when it was
synced, and a folder's entries that were there when the folder was synced; a rename is made wholly or not at
all. All else may be on the disk or not, each by itself: a block of a file (new bytes, old bytes, or zeros
where the file grew), an entry of a folder. Two changes of one entry happen in their order. Syncing a file
says nothing about its name.

The model of an orderly one (ext4 with data=ordered, and its like): changes of folders happen in one order for
the whole disk, and any sync makes all earlier ones last; a file that grew has its bytes, not zeros.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from random import Random
from typing import NamedTuple, TypeAlias

from tests.power_cut.file_operations import (
    Link,
    MakeFolder,
    Open,
    Operation,
    Remove,
    Rename,
    Resize,
    Sync,
    Write,
)

BLOCK = 4096
SECTOR = 512

Tree: TypeAlias = dict[PurePosixPath, bytes | None]  # None: a folder


class DataChange(NamedTuple):
    """New bytes at an offset, or, where there are none, a new size."""

    offset: int
    data: bytes | None


class EntryChange(NamedTuple):
    """Entries that change together: folder, name, and the file it names from now on (None: no file)."""

    entries: tuple[tuple[int, str, int | None], ...]

    def touches(self, places: set[tuple[int, str]]) -> bool:
        return any((folder, name) in places for folder, name, _ in self.entries)


@dataclass
class Inode:
    """A file: bytes that are certain, and changes that are not. Or a folder, with its certain entries."""

    is_folder: bool
    certain: bytes = b""
    changes: list[DataChange] = field(default_factory=list)
    running: bytearray = field(default_factory=bytearray)
    entries: dict[str, int] = field(default_factory=dict)
    running_entries: dict[str, int] = field(default_factory=dict)


class DiskModel:
    """One disk, from the folder `root` on, which is certain itself."""

    def __init__(self, root: PurePosixPath, before: Tree, is_orderly: bool = False) -> None:
        self._root, self.is_orderly = root, is_orderly
        self.inodes: list[Inode] = [Inode(is_folder=True)]
        self.pending: list[EntryChange] = []
        for path, content in sorted(before.items()):
            self._apply_entry(self._new_entry(path, content is None))
            inode = self._inode(path)
            inode.certain = content or b""
            inode.running = bytearray(inode.certain)
        self._sync_entries(self.pending)

    # --- what happens --------------------------------------------------------------------------------

    def apply(self, operation: Operation) -> None:
        match operation:
            case Open(path, creates, truncates):
                if creates and self._find(path) is None:
                    self._apply_entry(self._new_entry(path, is_folder=False))
                elif truncates:
                    self._change(path, DataChange(0, None))
            case Write(path, offset, data):
                place = len(self._inode(path).running) if offset is None else offset
                self._change(path, DataChange(place, data))
            case Resize(path, size, only_grows):
                if not only_grows or size > len(self._inode(path).running):
                    self._change(path, DataChange(size, None))
            case MakeFolder(path):
                self._apply_entry(self._new_entry(path, is_folder=True))
            case Remove(path):
                folder, name = self._place(path)
                self._apply_entry(EntryChange(((folder, name, None),)))
            case Rename(source, target):
                number, left, taken = self._number(source), self._place(source), self._place(target)
                self._apply_entry(EntryChange(((*left, None), (*taken, number))))
            case Link(source, target):
                self._apply_entry(EntryChange(((*self._place(target), self._number(source)),)))
            case Sync(path):
                self._sync(path)

    def _change(self, path: PurePosixPath, change: DataChange) -> None:
        inode = self._inode(path)
        inode.changes.append(change)
        _apply(inode.running, change)

    def _apply_entry(self, change: EntryChange) -> None:
        self.pending.append(change)
        _apply_entries({n: i.running_entries for n, i in enumerate(self.inodes)}, change)

    def _new_entry(self, path: PurePosixPath, is_folder: bool) -> EntryChange:
        self.inodes.append(Inode(is_folder))
        return EntryChange(((*self._place(path), len(self.inodes) - 1),))

    def _sync(self, path: PurePosixPath | None) -> None:
        synced = self.inodes if path is None else [self._inode(path)]
        for inode in synced:
            inode.certain, inode.changes = bytes(inode.running), []
        if path is None or self.is_orderly:
            self._sync_entries(self.pending)
        elif self._inode(path).is_folder:
            folder = self._number(path)
            of_it = [c for c in self.pending if any(place == folder for place, _, _ in c.entries)]
            self._sync_entries(self.with_earlier(of_it))

    def _sync_entries(self, changes: Iterable[EntryChange]) -> None:
        done = list(changes)
        for change in done:
            _apply_entries({n: i.entries for n, i in enumerate(self.inodes)}, change)
        left = {id(change) for change in done}
        self.pending = [change for change in self.pending if id(change) not in left]

    def with_earlier(self, changes: Iterable[EntryChange]) -> list[EntryChange]:
        """These changes of entries, and the earlier ones of the same entries; in their order."""
        wanted = {id(change) for change in changes}
        places: set[tuple[int, str]] = set()
        kept = []
        for change in reversed(self.pending):
            if id(change) in wanted or change.touches(places):
                kept.append(change)
                places |= {(folder, name) for folder, name, _ in change.entries}
        return kept[::-1]

    # --- what may be on the disk ---------------------------------------------------------------------

    def as_running(self) -> Tree:
        """As programs see it while the power is on; so a killed process leaves it."""
        contents = {number: bytes(inode.running) for number, inode in enumerate(self.inodes)}
        return self._tree({n: i.running_entries for n, i in enumerate(self.inodes)}, contents)

    def after_cut(self, kept: Iterable[EntryChange], data: dict[int, bytes]) -> Tree:
        """With these changes of folders, and these bytes of files; of the others what is certain."""
        entries = {number: dict(inode.entries) for number, inode in enumerate(self.inodes)}
        for change in kept:
            _apply_entries(entries, change)
        return self._tree(entries, data)

    def uncertain_files(self) -> list[int]:
        return [number for number, inode in enumerate(self.inodes) if inode.changes]

    def torn(self, number: int, dice: Random) -> bytes:
        """One of the contents that a file with uncertain bytes may have."""
        inode = self.inodes[number]
        if self.is_orderly or dice.random() < 0.5:
            return _cut_short(inode, dice)
        return _scattered(inode, dice)

    def _tree(self, entries: dict[int, dict[str, int]], data: dict[int, bytes]) -> Tree:
        tree: Tree = {}
        waiting = [(self._root, 0)]
        while waiting:
            folder, number = waiting.pop()
            for name, child in entries[number].items():
                inode = self.inodes[child]
                tree[folder / name] = None if inode.is_folder else data.get(child, inode.certain)
                if inode.is_folder:
                    waiting.append((folder / name, child))
        return tree

    # --- names ---------------------------------------------------------------------------------------

    def _find(self, path: PurePosixPath) -> int | None:
        number: int | None = 0
        for name in path.relative_to(self._root).parts:
            if number is None:
                return None
            number = self.inodes[number].running_entries.get(name)
        return number

    def _number(self, path: PurePosixPath) -> int:
        number = self._find(path)
        if number is None:
            raise KeyError(f"{path} is not there")
        return number

    def _inode(self, path: PurePosixPath) -> Inode:
        return self.inodes[self._number(path)]

    def _place(self, path: PurePosixPath) -> tuple[int, str]:
        return self._number(path.parent), path.name


def _apply(content: bytearray, change: DataChange) -> None:
    offset, data = change
    if data is None:
        del content[offset:]
        content.extend(bytes(offset - len(content)))
        return
    content.extend(bytes(max(0, offset - len(content))))
    content[offset : offset + len(data)] = data


def _apply_entries(entries: dict[int, dict[str, int]], change: EntryChange) -> None:
    for folder, name, number in change.entries:
        if number is None:
            entries[folder].pop(name, None)
        else:
            entries[folder][name] = number


def _cut_short(inode: Inode, dice: Random) -> bytes:
    """The first changes, and the beginning of the next one up to a sector."""
    content = bytearray(inode.certain)
    count = dice.randrange(len(inode.changes))
    for change in inode.changes[:count]:
        _apply(content, change)
    last = inode.changes[count]
    if last.data is not None:
        length = dice.randrange(len(last.data) + SECTOR) // SECTOR * SECTOR
        _apply(content, last._replace(data=last.data[:length]))
    return bytes(content)


def _scattered(inode: Inode, dice: Random) -> bytes:
    """Each block old or new; where the file grew, zeros for old."""
    content = bytearray(inode.running)
    for start in range(0, len(content), BLOCK):
        end = min(start + BLOCK, len(content))
        if dice.random() < 0.5:
            old = inode.certain[start:end]
            content[start:end] = old + bytes(end - start - len(old))
    return bytes(content)
