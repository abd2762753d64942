"""Incoming connections -> those that may stay: strangers get few bytes, little time and few places.

Until a connection has shown a valid frame, its frames are small and must arrive soon. When too many
connections have not, the oldest of them is closed: a peer shows a frame within milliseconds, so a flood
pushes out itself.

Invariant: what strangers can make a peer hold is at most STRANGERS_MAX times STRANGER_BYTES_MAX.
"""

from __future__ import annotations

import asyncio

from ipmicra.errors import PeerFault
from ipmicra.protocol.overlay_frames import FRAME_BYTES_MAX, STRANGER_BYTES_MAX, length_of

STRANGERS_MAX = 64
CONNECTIONS_MAX = 1_024
STRANGER_SECONDS_MAX = 5.0  # for the first frame, from its first byte or none
FRAME_SECONDS_MAX = 30.0  # for the rest of a frame whose length has arrived
IDLE_SECONDS_MAX = 180.0  # between two frames; a peer closes its own connection after 60


class StrangerLimits:
    """The open connections of one listener."""

    def __init__(self) -> None:
        self._strangers: dict[asyncio.StreamWriter, None] = {}  # oldest first
        self._known: set[asyncio.StreamWriter] = set()

    def __len__(self) -> int:
        return len(self._strangers) + len(self._known)

    def on_opened(self, writer: asyncio.StreamWriter) -> None:
        """Raises PeerFault where even known peers have opened too many."""
        if len(self) >= CONNECTIONS_MAX:
            raise PeerFault(f"{CONNECTIONS_MAX} connections are open already")
        self._strangers[writer] = None
        if len(self._strangers) > STRANGERS_MAX:
            oldest = next(iter(self._strangers))
            del self._strangers[oldest]
            oldest.transport.abort()

    def on_authenticated(self, writer: asyncio.StreamWriter) -> None:
        if self._strangers.pop(writer, self) is None:
            self._known.add(writer)

    def on_closed(self, writer: asyncio.StreamWriter) -> None:
        self._strangers.pop(writer, None)
        self._known.discard(writer)

    async def read_frame(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_attached: bool
    ) -> bytes:
        """The next frame. Raises TimeoutError, IncompleteReadError, or PeerFault for one that is too long."""
        is_known = writer in self._known
        async with asyncio.timeout(None if is_known else STRANGER_SECONDS_MAX):
            async with asyncio.timeout(None if is_attached or not is_known else IDLE_SECONDS_MAX):
                head = await reader.readexactly(4)
            length = length_of(head, FRAME_BYTES_MAX if is_known else STRANGER_BYTES_MAX)
            async with asyncio.timeout(FRAME_SECONDS_MAX):
                return await reader.readexactly(length)
