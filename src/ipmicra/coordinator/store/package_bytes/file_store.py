"""Packages as bytes -> durable files in the data folder; `package_s3` does the same with S3.

Invariant: `keep` returns when the bytes survive a power cut, and may be called again with the same bytes. The
digest is the name, so a file is never overwritten with other content; bytes that no longer match their digest
are damaged and are not returned.
"""

from __future__ import annotations

from mmap import mmap
from pathlib import Path
from typing import Protocol

from ipmicra.carrier.durable import locked_folder, make_folder, sync_folder, write_durably
from ipmicra.carrier.package import digest_of
from ipmicra.errors import HostFault


class PackageLost(HostFault):
    """The store answers, and does not have the bytes any more, or has others."""


class PackageStore(Protocol):
    """Stores packages by their digest."""

    def keep(self, digest: str, data: bytes) -> None: ...

    def fetch(self, digest: str) -> bytes: ...

    def discard(self, digest: str) -> None: ...


def keep(store: PackageStore, digest: str, data: bytes | mmap) -> None:
    """Keep bytes that may lie in a mapped file; only a store of files takes them from there."""
    if isinstance(store, FilePackageStore):
        store.keep(digest, data)
    else:
        store.keep(digest, bytes(data))


def verified(digest: str, data: bytes, where: str) -> bytes:
    """The bytes, if they match the digest. Raises HostFault."""
    if digest_of(data) != digest:
        raise PackageLost(f"the package {digest[:12]} is damaged in {where}: restore it from a copy")
    return data


class FilePackageStore:
    """One file per package, in folders named by the first two digits of the digest."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lasting: set[Path] = set()  # folders, as far as this process has made sure
        make_folder(folder)

    def keep(self, digest: str, data: bytes | mmap) -> None:
        path = self._path(digest)
        try:
            if path.parent not in self._lasting:
                make_folder(path.parent)
                self._lasting.add(path.parent)
            with locked_folder(path.parent):  # the same package may arrive twice at once
                if path.exists():  # perhaps not durable: its writer may have died before the sync
                    sync_folder(path.parent)
                else:
                    write_durably(path, data)
        except OSError as error:
            raise HostFault(f"storing the package {digest[:12]} in {self._folder}: {error}") from error

    def fetch(self, digest: str) -> bytes:
        try:
            data = self._path(digest).read_bytes()
        except FileNotFoundError as error:
            raise PackageLost(f"the package {digest[:12]} is missing from {self._folder}") from error
        except OSError as error:
            raise HostFault(f"fetching the package {digest[:12]} in {self._folder}: {error}") from error
        return verified(digest, data, str(self._folder))

    def discard(self, digest: str) -> None:
        self._path(digest).unlink(missing_ok=True)

    def _path(self, digest: str) -> Path:
        return self._folder / digest[:2] / digest
