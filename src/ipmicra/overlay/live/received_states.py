"""Site states from other peers -> files, until their sites are started here or handed on.

Invariant: on return from `store` a state survives the death of the process and of the machine, so it may be
acknowledged. A file under its final name is complete; one that is not a site state is removed.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator
from pathlib import Path

import msgspec

from ipmicra.carrier.durable import make_folder, sync_folder, write_durably
from ipmicra.errors import HostFault
from ipmicra.protocol.foreign_bytes import UNREADABLE

FOLDER = "received"
STATES_MAX = 1_000  # waiting at once; if a state is refused, the site is crawled from the start

_log = logging.getLogger(__name__)


class ReceivedState(msgspec.Struct, frozen=True, array_like=True):
    """The contents of a file."""

    site: str
    state: bytes


_decode = msgspec.msgpack.Decoder(ReceivedState).decode


class ReceivedStates:
    """The waiting states. Those of an earlier process are `recovered`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER
        make_folder(self._folder)
        self._files = dict(self._read_all())
        self.recovered = frozenset(self._files)

    def __iter__(self) -> Iterator[str]:
        """The sites, the longest waiting first."""
        return iter(list(self._files))

    def __contains__(self, site: str) -> bool:
        return site in self._files

    def __len__(self) -> int:
        return len(self._files)

    def store(self, site: str, state: bytes) -> None:
        """Durable on return. Replaces an earlier state of the site."""
        if site not in self._files and len(self._files) >= STATES_MAX:
            raise HostFault(f"{STATES_MAX} site states are waiting already")
        path = self._folder / f"{hashlib.sha256(site.encode()).hexdigest()[:40]}.state"
        write_durably(path, msgspec.msgpack.encode(ReceivedState(site, state)))
        self._files[site] = path

    def read(self, site: str) -> bytes:
        return _decode(self._files[site].read_bytes()).state

    def discard(self, site: str) -> None:
        """The site was started or handed on, or the state is too old."""
        path = self._files.pop(site, None)
        if path is not None:
            path.unlink(missing_ok=True)
            sync_folder(self._folder)

    def _read_all(self) -> Iterator[tuple[str, Path]]:
        paths = sorted(self._folder.glob("*.state"), key=lambda path: path.stat().st_mtime_ns)
        for path in paths:
            try:
                yield _decode(path.read_bytes()).site, path
            except UNREADABLE as error:
                _log.warning("removing %s, which is not a site state: %s", path, error)
                path.unlink()
        for unfinished in self._folder.glob(".*.unfinished"):
            unfinished.unlink()
