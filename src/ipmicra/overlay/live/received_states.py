"""Site states that other peers have sent -> files, until their sites are begun here or passed on.

Invariant: on return from `keep` a state survives the death of the process and of the machine, so it may be
acknowledged. A file is whole under its name; one that does not read as a state of a site is removed.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator
from pathlib import Path

import msgspec

from ipmicra.carrier.durable import sync_folder, write_durably
from ipmicra.errors import HostFault

FOLDER = "received"
STATES_MAX = (
    1_000  # that wait at once; a sender whose state is refused keeps the site, or it begins anew
)

_log = logging.getLogger(__name__)


class ReceivedState(msgspec.Struct, frozen=True, array_like=True):
    """The contents of a file."""

    site: str
    state: bytes


_decode = msgspec.msgpack.Decoder(ReceivedState).decode


class ReceivedStates:
    """The states that wait. Those of an earlier process are `recovered`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER
        self._folder.mkdir(parents=True, exist_ok=True)
        self._files = dict(self._read_all())
        self.recovered = frozenset(self._files)

    def __iter__(self) -> Iterator[str]:
        """The sites, the longest waiting first."""
        return iter(list(self._files))

    def __contains__(self, site: str) -> bool:
        return site in self._files

    def __len__(self) -> int:
        return len(self._files)

    def keep(self, site: str, state: bytes) -> None:
        """Durable on return. Replaces an earlier state of the site."""
        if site not in self._files and len(self._files) >= STATES_MAX:
            raise HostFault(f"{STATES_MAX} states of sites wait already")
        path = self._folder / f"{hashlib.sha256(site.encode()).hexdigest()[:40]}.state"
        write_durably(path, msgspec.msgpack.encode(ReceivedState(site, state)))
        self._files[site] = path

    def read(self, site: str) -> bytes:
        return _decode(self._files[site].read_bytes()).state

    def discard(self, site: str) -> None:
        """It is begun, passed on, or too old."""
        path = self._files.pop(site, None)
        if path is not None:
            path.unlink(missing_ok=True)
            sync_folder(self._folder)

    def _read_all(self) -> Iterator[tuple[str, Path]]:
        paths = sorted(self._folder.glob("*.state"), key=lambda path: path.stat().st_mtime_ns)
        for path in paths:
            try:
                yield _decode(path.read_bytes()).site, path
            except msgspec.MsgspecError as error:
                _log.warning("%s is removed: it is not the state of a site: %s", path, error)
                path.unlink()
        for unfinished in self._folder.glob(".*.unfinished"):
            unfinished.unlink()
