"""A remote file -> the same file here, whole, or the one we had.

Laws: what stands in place is always a whole file, checked against the published checksum where there is
one. A download grows in a part file beside it and is renamed when it is whole and synced. A part that was
left over is taken up where it ends if the server still has the same version, else begun again.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from ipmicra.errors import HostFault
from ipmicra.registry.download.sources import RemoteFile
from ipmicra.registry.download.transfer import (
    NOT_MODIFIED,
    RANGE_NOT_SATISFIABLE,
    Broken,
    Validators,
    ask,
    pieces,
)

CHECKSUM_BYTES_MAX = 1 << 16
PAUSE_FIRST_S = 1.0
_DIGEST = re.compile(rb"\b([0-9a-fA-F]{32}|[0-9a-fA-F]{64}|[0-9a-fA-F]{128})\b")
_ALGORITHMS = {32: "md5", 64: "sha256", 128: "sha512"}  # by the number of hexadecimal digits

DownloadProgress = Callable[[int, int], None]  # bytes here, bytes in all (-1: unknown)


class RetryPolicy(NamedTuple):
    """How long to bear with a server. `pause` waits between tries; each pause is twice the last."""

    timeout_s: float
    attempts_max: int
    pause: Callable[[float], None] = time.sleep


class DownloadOutcome(msgspec.Struct, frozen=True):
    """The result of one file's download."""

    registry: str
    name: str
    state: Literal["fetched", "unchanged", "failed"]
    size_bytes: int
    checksum: Literal["agrees", "not published", ""]
    detail: str = ""


class _Places(NamedTuple):
    """A file, its part, and what the server said about either."""

    file: Path
    part: Path
    file_validators: Path
    part_validators: Path

    @classmethod
    def of(cls, file: Path) -> _Places:
        def beside(suffix: str) -> Path:
            return file.with_name(f".{file.name}.{suffix}")

        return cls(file, beside("part"), beside("validators"), beside("part-validators"))


def fetch(
    remote: RemoteFile, folder: Path, patience: RetryPolicy, progress: DownloadProgress
) -> DownloadOutcome:
    """Bring one file up to date. Troubles with the server are an outcome, troubles with the disk a fault."""
    places = _Places.of(folder / remote.registry / remote.name)
    try:
        places.file.parent.mkdir(parents=True, exist_ok=True)
        return _with_patience(remote, places, patience, progress)
    except Broken as broken:
        return DownloadOutcome(remote.registry, remote.name, "failed", 0, "", f"{remote.url}: {broken}")
    except OSError as error:
        raise HostFault(f"fetching {remote.url} into {places.file.parent}: {error}") from error


def _with_patience(
    remote: RemoteFile, places: _Places, patience: RetryPolicy, progress: DownloadProgress
) -> DownloadOutcome:
    for attempt in range(1, patience.attempts_max + 1):
        try:
            return _attempt(remote, places, patience.timeout_s, progress)
        except Broken as broken:
            if broken.for_good or attempt == patience.attempts_max:
                raise
            patience.pause(PAUSE_FIRST_S * 2 ** (attempt - 1))
    raise Broken("registry.attempts_max allows no attempt", for_good=True)


def _attempt(
    remote: RemoteFile, places: _Places, timeout_s: float, progress: DownloadProgress
) -> DownloadOutcome:
    if not _download(remote, places, timeout_s, progress):
        size_bytes = places.file.stat().st_size
        return DownloadOutcome(remote.registry, remote.name, "unchanged", size_bytes, "")
    published = _published_checksum(remote, timeout_s)
    if published:
        _compare(places, published)
    size_bytes = places.part.stat().st_size
    places.part_validators.replace(places.file_validators)
    places.part.replace(places.file)
    _sync_folder(places.file.parent)
    agrees: Literal["agrees", "not published"] = "agrees" if published else "not published"
    return DownloadOutcome(remote.registry, remote.name, "fetched", size_bytes, agrees)


def _download(remote: RemoteFile, places: _Places, timeout_s: float, progress: DownloadProgress) -> bool:
    """Bring the part to its end; False where the file in place is the newest already."""
    here_bytes = places.part.stat().st_size if places.part.exists() else 0
    answer = ask(remote.url, _conditions(places, here_bytes), timeout_s)
    if answer.status == NOT_MODIFIED:
        return False
    if answer.status == RANGE_NOT_SATISFIABLE or answer.begins_at not in (0, here_bytes):
        _discard(places.part, places.part_validators)
        if answer.body is not None:
            answer.body.close()
        raise Broken("the part that was here does not fit what the server has")
    _remember(places.part_validators, answer.validators)
    with places.part.open("ab") as part:
        part.truncate(answer.begins_at)
        written = answer.begins_at
        for piece in pieces(answer, timeout_s):
            part.write(piece)
            written += len(piece)
            progress(written, answer.total_bytes)
        part.flush()
        os.fsync(part.fileno())
    return True


def _conditions(places: _Places, here_bytes: int) -> dict[str, str]:
    """Headers that ask for the rest of a part, or for a newer version of the file, or for all of it."""
    strong = _remembered(places.part_validators).strong()
    if here_bytes and strong:
        return {"Range": f"bytes={here_bytes}-", "If-Range": strong}
    known = _remembered(places.file_validators) if places.file.exists() else Validators()
    conditions = {"If-None-Match": known.etag, "If-Modified-Since": known.last_modified}
    return {name: value for name, value in conditions.items() if value}


def _published_checksum(remote: RemoteFile, timeout_s: float) -> str:
    """Hexadecimal digits, or nothing where none is published."""
    if not remote.checksum_suffix:
        return ""
    try:
        answer = ask(remote.url + remote.checksum_suffix, {}, timeout_s)
        text = _joined(pieces(answer, timeout_s)) if answer.body is not None else b""
    except Broken as broken:
        if broken.for_good:
            return ""
        raise
    digest = _DIGEST.search(text)
    return digest[1].decode().lower() if digest else ""


def _joined(parts: Iterable[bytes]) -> bytes:
    text = b""
    for part in parts:
        text += part
        if len(text) > CHECKSUM_BYTES_MAX:
            raise Broken("the checksum file does not contain a checksum", for_good=True)
    return text


def _compare(places: _Places, published: str) -> None:
    algorithm = _ALGORITHMS[len(published)]
    with places.part.open("rb") as part:
        ours = hashlib.file_digest(
            part, lambda: hashlib.new(algorithm, usedforsecurity=False)
        ).hexdigest()
    if ours != published:
        _discard(places.part, places.part_validators)
        raise Broken(f"its {algorithm} is {ours}, the published one {published}")


def _remember(path: Path, validators: Validators) -> None:
    path.write_bytes(msgspec.json.encode(validators))


def _remembered(path: Path) -> Validators:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Validators)
    except (FileNotFoundError, msgspec.MsgspecError):
        return Validators()


def _discard(*paths: Path) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
