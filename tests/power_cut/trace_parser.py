"""Lines of `strace -f -ttt -y -xx` -> operations on files below a folder, in the order of their answers.

Invariant: a call that changes files and is not understood raises; so nothing is left out unsaid. What is
mapped shared and writable is understood for SQLite's `-shm` only, which is made anew at each opening.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePosixPath

from tests.power_cut.file_operations import (
    Link,
    MakeFolder,
    Open,
    Operation,
    Recorded,
    Remove,
    Rename,
    Resize,
    Sync,
    Write,
)

CALLS = [
    *("open", "openat", "creat", "write", "writev", "pwrite64", "pwritev", "pwritev2", "lseek"),
    *("ftruncate", "truncate", "fallocate", "copy_file_range", "sendfile", "mmap", "io_uring_setup"),
    *("fsync", "fdatasync", "sync", "syncfs", "rename", "renameat", "renameat2", "unlink", "unlinkat"),
    *("mkdir", "mkdirat", "rmdir", "link", "linkat", "symlink", "symlinkat"),
]
FORGOTTEN = ("-shm",)  # endings of files that recovery does not read

_HEX = r"((?:\\x[0-9a-f]{2})*)"
_BEGUN = re.compile(r"^(\d+) +(\d+\.\d+) (.*) <unfinished \.\.\.>$")
_RESUMED = re.compile(r"^(\d+) +\d+\.\d+ <\.\.\. \w+ resumed>(.*)$")
_CALL = re.compile(r"^(\d+) +(\d+\.\d+) (\w+)\((.*)\) += (-?\d+|0x[0-9a-f]+)(.*)$")
_DESCRIPTOR = re.compile(rf"^(-?\d+|AT_FDCWD)<{_HEX}>(\(deleted\))?$")
_STRING = re.compile(rf'^"{_HEX}"$')
_PART = re.compile(rf'iov_base="{_HEX}"')


class TraceParser:
    """Reads one trace. `root` is the folder whose files count."""

    def __init__(self, root: PurePosixPath) -> None:
        self._root = root
        self._unfinished: dict[str, tuple[str, str]] = {}
        self._positions: dict[tuple[PurePosixPath, str], int | None] = {}
        at_fd, at_path = self._of_descriptor, self._of_path
        self._readers: dict[str, Callable[[str, list[str], str], Operation | None]] = {
            "open": lambda _, a, r: self._opened(at_path(a[0]), a[1], r),
            "creat": lambda _, a, r: self._opened(at_path(a[0]), "O_WRONLY|O_CREAT|O_TRUNC", r),
            "openat": lambda _, a, r: self._opened(at_path(a[1], a[0]), a[2], r),
            "write": self._written,
            "writev": self._written,
            "pwrite64": self._written_at,
            "pwritev": self._written_at,
            "pwritev2": self._written_at,
            "ftruncate": lambda _, a, r: self._resized(at_fd(a[0]), int(a[1])),
            "truncate": lambda _, a, r: self._resized(at_path(a[0]), int(a[1])),
            "fallocate": self._allocated,
            "fsync": lambda _, a, r: self._synced(at_fd(a[0])),
            "fdatasync": lambda _, a, r: self._synced(at_fd(a[0])),
            "sync": lambda _, a, r: Sync(None),
            "syncfs": lambda _, a, r: Sync(None),
            "rename": lambda _, a, r: self._renamed(at_path(a[0]), at_path(a[1])),
            "renameat": lambda _, a, r: self._renamed(at_path(a[1], a[0]), at_path(a[3], a[2])),
            "renameat2": lambda _, a, r: self._renamed(at_path(a[1], a[0]), at_path(a[3], a[2]), a[4]),
            "unlink": lambda _, a, r: self._removed(at_path(a[0])),
            "rmdir": lambda _, a, r: self._removed(at_path(a[0])),
            "unlinkat": lambda _, a, r: self._removed(at_path(a[1], a[0])),
            "mkdir": lambda _, a, r: self._made(at_path(a[0])),
            "mkdirat": lambda _, a, r: self._made(at_path(a[1], a[0])),
            "link": lambda _, a, r: self._linked(at_path(a[0]), at_path(a[1])),
            "linkat": lambda _, a, r: self._linked(at_path(a[1], a[0]), at_path(a[3], a[2])),
            "lseek": self._sought,
            "mmap": self._mapped,
        }

    def operations(self, lines: Iterable[str]) -> Iterator[Recorded]:
        for line in lines:
            whole = self._joined(line.rstrip("\n"))
            call = _CALL.match(whole) if whole else None
            if call is None or call[5] == "-1":
                continue
            operation = self._operation(call[3], call[4].split(", "), call[5], call[6])
            if operation is not None:
                yield Recorded(float(call[2]), operation)

    def _joined(self, line: str) -> str | None:
        """A whole line; the first half of a call waits for its second."""
        if begun := _BEGUN.match(line):
            self._unfinished[begun[1]] = (begun[2], begun[3])
            return None
        if resumed := _RESUMED.match(line):
            begun_s, first = self._unfinished.pop(resumed[1])
            return f"{resumed[1]} {begun_s} {first}{resumed[2]}"
        return line

    def _operation(self, name: str, arguments: list[str], result: str, after: str) -> Operation | None:
        reader = self._readers.get(name)
        if reader is None:
            if any(self._is_ours(argument) for argument in arguments):
                raise NotImplementedError(f"{name} changes files, and is not understood: {arguments}")
            return None
        return reader(name, arguments, result + after)

    def _is_ours(self, argument: str) -> bool:
        return self._of_descriptor(argument) is not None or self._of_path(argument) is not None

    # --- names ---------------------------------------------------------------------------------------

    def _of_descriptor(self, argument: str) -> PurePosixPath | None:
        found = _DESCRIPTOR.match(argument)
        if found is None or found[3]:  # of a removed file: no name leads to it after a power cut
            return None
        return self._counted(PurePosixPath(_text(found[2])))

    def _of_path(self, argument: str, folder: str = "") -> PurePosixPath | None:
        found, base = _STRING.match(argument), _DESCRIPTOR.match(folder)
        if found is None:
            return None
        path = PurePosixPath(_text(found[1]))
        return self._counted(path if base is None else PurePosixPath(_text(base[2])) / path)

    def _counted(self, path: PurePosixPath) -> PurePosixPath | None:
        ours = path.is_relative_to(self._root) and not path.name.endswith(FORGOTTEN)
        return path if ours else None

    # --- calls ---------------------------------------------------------------------------------------

    def _opened(self, path: PurePosixPath | None, flags: str, result: str) -> Operation | None:
        names = flags.split("|")
        if path is None or "O_DIRECTORY" in names:
            return None
        if "O_TMPFILE" in names:
            return None  # no name leads to it after a power cut
        number = result.split("<")[0]
        self._positions[path, number] = None if "O_APPEND" in names else 0
        if not {"O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"} & set(names):
            return None
        return Open(path, "O_CREAT" in names, "O_TRUNC" in names)

    def _written(self, _: str, arguments: list[str], result: str) -> Operation | None:
        path = self._of_descriptor(arguments[0])
        if path is None:
            return None
        key, count = (path, arguments[0].split("<")[0]), int(result.split()[0])
        offset = self._positions.get(key, self._position_of_other_name(key))
        if offset is not None:
            self._positions[key] = offset + count
        return Write(path, offset, _data(arguments[1:])[:count])

    def _position_of_other_name(self, key: tuple[PurePosixPath, str]) -> int | None:
        """A file that was renamed while it was open."""
        known = [place for (_, number), place in self._positions.items() if number == key[1]]
        return known[-1] if known else 0

    def _written_at(self, name: str, arguments: list[str], result: str) -> Operation | None:
        path = self._of_descriptor(arguments[0])
        if path is None:
            return None
        offset = arguments[-2] if name == "pwritev2" else arguments[-1]
        return Write(path, int(offset), _data(arguments[1:])[: int(result.split()[0])])

    def _resized(self, path: PurePosixPath | None, size: int) -> Operation | None:
        return None if path is None else Resize(path, size)

    def _allocated(self, _: str, arguments: list[str], __: str) -> Operation | None:
        path = self._of_descriptor(arguments[0])
        if path is None:
            return None
        if arguments[1] != "0":
            raise NotImplementedError(f"fallocate of {path} with {arguments[1]}")
        return Resize(path, int(arguments[2]) + int(arguments[3]), only_grows=True)

    def _synced(self, path: PurePosixPath | None) -> Operation | None:
        return None if path is None else Sync(path)

    def _renamed(
        self, source: PurePosixPath | None, target: PurePosixPath | None, flags: str = "0"
    ) -> Operation | None:
        if source is None and target is None:
            return None
        if source is None or target is None or "RENAME_EXCHANGE" in flags:
            raise NotImplementedError(f"rename of {source} to {target} with {flags}")
        return Rename(source, target)

    def _removed(self, path: PurePosixPath | None) -> Operation | None:
        return None if path is None else Remove(path)

    def _made(self, path: PurePosixPath | None) -> Operation | None:
        return None if path is None else MakeFolder(path)

    def _linked(self, source: PurePosixPath | None, target: PurePosixPath | None) -> Operation | None:
        return None if source is None or target is None else Link(source, target)

    def _sought(self, _: str, arguments: list[str], result: str) -> None:
        path = self._of_descriptor(arguments[0])
        key = None if path is None else (path, arguments[0].split("<")[0])
        if key is not None and self._positions.get(key, 0) is not None:
            self._positions[key] = int(result.split()[0])

    def _mapped(self, _: str, arguments: list[str], __: str) -> None:
        writes = "PROT_WRITE" in arguments[2] and "MAP_SHARED" in arguments[3]
        path = self._of_descriptor(arguments[4])
        if writes and path is not None:
            raise NotImplementedError(f"{path} is written through a mapping, which is not seen")


def _text(hexadecimal: str) -> str:
    return _bytes(hexadecimal).decode("utf-8", "surrogateescape")


def _bytes(hexadecimal: str) -> bytes:
    return bytes.fromhex(hexadecimal.replace("\\x", ""))


def _data(arguments: list[str]) -> bytes:
    """What was written: one string, or the parts of a vector."""
    whole = _STRING.match(arguments[0])
    if whole is not None:
        return _bytes(whole[1])
    return b"".join(_bytes(part) for part in _PART.findall(", ".join(arguments)))
