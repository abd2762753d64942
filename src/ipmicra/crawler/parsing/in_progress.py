"""The page that is worked on in this process -> its URL in a file, which outlives the process.

A page that kills its process, or hangs it until somebody else kills it, is named by what is found there at
the next start. Invariant: the file names no page while none is worked on, except the one that was `found`
until `forget`. Writing is two system calls per page and no sync: a name must survive the process, not the
machine.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ipmicra.model.urls import Url

_LENGTH = struct.Struct("<I")
_NOTHING = _LENGTH.pack(0)
_BYTES_MAX = 64 << 10


class InProgress:
    """One file. Close it."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        self.found = _name_in(os.pread(self._file, _BYTES_MAX, 0))  # what an earlier process left

    def forget(self) -> None:
        """What was found is dealt with."""
        self.found = None
        os.pwrite(self._file, _NOTHING, 0)

    @contextmanager
    def of(self, url: Url) -> Iterator[None]:
        """While the page is worked on, without waiting for anything."""
        name = url.encode("utf-8", "replace")
        os.pwrite(self._file, _LENGTH.pack(len(name)) + name, 0)
        try:
            yield
        finally:
            os.pwrite(self._file, _NOTHING, 0)

    def close(self) -> None:
        os.close(self._file)


def _name_in(data: bytes) -> Url | None:
    if len(data) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack_from(data)
    name = data[_LENGTH.size : _LENGTH.size + length]
    return Url(name.decode("utf-8", "replace")) if length and len(name) == length else None
