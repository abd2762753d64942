"""A folder of Python files -> one bundle, always the same bytes; and a bundle -> a folder, or a refusal.

A bundle is a zip archive: `manifest.json` has the version, the program to run, the runtime it needs and
the digest of every file; the files lie under `code/`.

Invariant: a bundle is unpacked wholly or not at all. Refused are names that leave the folder, links,
files that the manifest does not list or that differ from it, anything but Python source, and more files
or bytes than the limits allow, counted and not read from the archive's own headers.
"""

from __future__ import annotations

import hashlib
import io
import shutil
import stat
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

import msgspec

from ipmicra.errors import HostFault
from ipmicra.protocol.foreign_bytes import UNREADABLE

FORMAT = 1
HOST_INTERFACE = 1  # what the host offers to code: /code, /state, /settings.json, control and broker
MANIFEST = "manifest.json"
CODE = "code"
MANIFEST_BYTES_MAX = 1 << 20
_DAMAGE = (  # what Python's reader of archives raises for bytes that are none
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    RuntimeError,
    NotImplementedError,
    ValueError,
    struct.error,
)
_FIXED_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip archive can say


class BundleCaps(msgspec.Struct, frozen=True):
    """How large a bundle may be. Some thirty times what a crawler needs."""

    bundle_bytes_max: int = 8 << 20
    files_max: int = 2_000
    code_bytes_max: int = 32 << 20  # unpacked


ORDINARY_CAPS = BundleCaps()


class NeededRuntime(msgspec.Struct, frozen=True, kw_only=True):
    """The runtime that a bundle needs on the host."""

    seam: int = HOST_INTERFACE
    python_least: tuple[int, int] = (3, 11)
    packages: tuple[str, ...] = ()  # modules that must be importable


class BundleManifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    format: int = FORMAT
    version: str
    program: str
    runtime: NeededRuntime
    files: dict[str, str]  # path under code/ -> sha256


class BadBundle(HostFault):
    """A bundle that is not run, and why."""


def pack(version: str, program: str, files: Mapping[str, bytes], packages: Iterable[str] = ()) -> bytes:
    """A bundle of these files (paths with slashes -> contents)."""
    manifest = BundleManifest(
        version=version,
        program=program,
        runtime=NeededRuntime(packages=tuple(sorted(packages))),
        files={path: _digest(data) for path, data in sorted(files.items())},
    )
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as bundle:
        _add(bundle, MANIFEST, msgspec.json.encode(manifest, order="deterministic"))
        for path, data in sorted(files.items()):
            _add(bundle, f"{CODE}/{path}", data)
    return archive.getvalue()


def unpack(data: bytes, folder: Path, caps: BundleCaps = ORDINARY_CAPS) -> BundleManifest:
    """Write a bundle's code into a new folder. Raises BadBundle and leaves no folder."""
    if folder.exists():
        raise FileExistsError(f"{folder} is there already")
    try:
        manifest, files = read(data, caps)
        folder.mkdir(parents=True)
        for path, content in files.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        _make_world_readable(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return manifest


def _make_world_readable(folder: Path) -> None:
    """Ignore the owner's umask: the sandbox reads the files as the user nobody."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def read(data: bytes, caps: BundleCaps = ORDINARY_CAPS) -> tuple[BundleManifest, dict[str, bytes]]:
    """The manifest and the files, all of them checked."""
    if len(data) > caps.bundle_bytes_max:
        raise BadBundle(f"the bundle has {len(data)} bytes, more than {caps.bundle_bytes_max}")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as bundle:
            return _read(bundle, caps)
    except _DAMAGE as error:
        raise BadBundle(f"the bundle is damaged: {error}") from error


def _read(bundle: zipfile.ZipFile, caps: BundleCaps) -> tuple[BundleManifest, dict[str, bytes]]:
    entries = bundle.infolist()
    if len(entries) > caps.files_max:
        raise BadBundle(f"the bundle has {len(entries)} files, more than {caps.files_max}")
    if not entries or entries[0].filename != MANIFEST:
        raise BadBundle(f"the bundle does not begin with {MANIFEST}")
    manifest = _manifest(_content(bundle, entries[0], MANIFEST_BYTES_MAX))
    _check_runtime(manifest)
    files: dict[str, bytes] = {}
    room = caps.code_bytes_max
    for entry in entries[1:]:
        path = _path(entry)
        if path in files or path not in manifest.files:
            raise BadBundle(f"the bundle has {path!r} twice, or without listing it")
        files[path] = _content(bundle, entry, room)
        room -= len(files[path])
        if _digest(files[path]) != manifest.files[path]:
            raise BadBundle(f"{path!r} in the bundle is not what its manifest says")
    if files.keys() != manifest.files.keys():
        raise BadBundle(f"the bundle lacks {sorted(manifest.files.keys() - files.keys())[:3]}")
    return manifest, files


def _manifest(data: bytes) -> BundleManifest:
    try:
        manifest = msgspec.json.decode(data, type=BundleManifest)
    except UNREADABLE as error:
        raise BadBundle(f"the bundle's manifest cannot be read: {error}") from error
    if manifest.format != FORMAT:
        raise BadBundle(f"the bundle has format {manifest.format}; this host reads {FORMAT}")
    return manifest


def _check_runtime(manifest: BundleManifest) -> None:
    needs = manifest.runtime
    if needs.seam != HOST_INTERFACE:
        raise BadBundle(
            f"wrong runtime: the bundle needs host interface {needs.seam}, not {HOST_INTERFACE}"
        )
    if sys.version_info[:2] < needs.python_least:
        raise BadBundle(
            f"wrong runtime: the bundle needs Python {'.'.join(map(str, needs.python_least))}"
        )
    missing = [package for package in needs.packages if not _is_installed(package)]
    if missing:
        raise BadBundle(f"wrong runtime: the bundle needs {', '.join(missing)}, not installed here")


def _is_installed(package: str) -> bool:
    return package.isidentifier() and find_spec(package) is not None


def _path(entry: zipfile.ZipInfo) -> str:
    """Where under `code/` the entry belongs. Raises BadBundle for every other place."""
    name = entry.filename
    parts = PurePosixPath(name).parts
    is_regular = stat.S_IFMT(entry.external_attr >> 16) in (0, stat.S_IFREG)
    is_inside = len(parts) > 1 and parts[0] == CODE and ".." not in parts and "\\" not in name
    if not (is_regular and is_inside and name == "/".join(parts) and name.endswith(".py")):
        raise BadBundle(f"the bundle has {name!r}, which is not a Python file under {CODE}/")
    return "/".join(parts[1:])


def _content(bundle: zipfile.ZipFile, entry: zipfile.ZipInfo, bytes_max: int) -> bytes:
    """The decompressed content of an entry, counted while it is decompressed."""
    with bundle.open(entry) as stream:
        data = stream.read(bytes_max + 1)
    if len(data) > bytes_max:
        raise BadBundle(f"the bundle inflates to more than its cap, at {entry.filename!r}")
    return data


def _add(bundle: zipfile.ZipFile, name: str, data: bytes) -> None:
    entry = zipfile.ZipInfo(name, _FIXED_TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (stat.S_IFREG | 0o444) << 16
    bundle.writestr(entry, data)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
