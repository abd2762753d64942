"""URLs that one process of a crawl found for another -> files in the other's inbox, and back.

Invariant: a mailbox item is synced before its sender drops the URLs, and removed after its
receiver has committed it. A kill in between delivers it again, which changes nothing: known URLs stay as
they are.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from ipmicra.carrier.durable import make_folder, sync_folder, write_durably
from ipmicra.crawler.decisions.partition import owner_of
from ipmicra.crawler.frontier.entries import DiscoveredUrl
from ipmicra.model.urls import Site

FOLDER = "parcels"  # under the data folder; a folder a crawl in it, an inbox a process in that


class MailboxItem(msgspec.Struct, frozen=True):
    """URLs to visit; or a whole site with all that is known of it, as the frontier exports it."""

    links: list[DiscoveredUrl] = []
    site: Site | None = None
    chunks: list[bytes] = []


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(MailboxItem).decode


class Mailbox:
    """The post of one process."""

    def __init__(self, folder: Path, number: int, processes: int) -> None:
        self._inboxes = [folder / f"{to}of{processes}" for to in range(1, processes + 1)]
        for inbox in self._inboxes:
            make_folder(inbox)
        self.number = number
        self.moved = 0  # sent and received

    def owner_of(self, address: str) -> int | None:
        """The process that may connect to the address; None: this one."""
        owner = owner_of(address, len(self._inboxes))
        return None if owner == self.number else owner

    def send_links(self, to: int, links: list[DiscoveredUrl]) -> None:
        self._send(to, MailboxItem(links))

    def send_site(self, to: int, site: Site, chunks: Iterable[bytes]) -> None:
        self._send(to, MailboxItem(site=site, chunks=list(chunks)))

    def waiting(self) -> Iterator[tuple[Path, MailboxItem]]:
        """The items that have arrived, oldest first."""
        for path in sorted(self._inboxes[self.number].glob("*.parcel")):
            yield path, _decode(path.read_bytes())

    def is_empty(self) -> bool:
        """Whether nothing waits in any inbox."""
        return not any(True for inbox in self._inboxes for _ in inbox.glob("*.parcel"))

    def remove(self, path: Path) -> None:
        """All of the mailbox item is committed: forget it."""
        path.unlink()
        sync_folder(path.parent)
        self.moved += 1

    def _send(self, to: int, item: MailboxItem) -> None:
        name = f"{time.time_ns():020d}-{self.number}.parcel"
        write_durably(self._inboxes[to] / name, _encode(item))
        self.moved += 1
