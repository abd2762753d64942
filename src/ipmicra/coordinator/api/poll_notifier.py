"""Orders given somewhere -> the long polls that wait for them, woken.

Law: the rows are the truth, the bell only a hint: whoever is woken looks for itself, and whoever is
forgotten wakes by the clock. It is rung from the rows, so it does not matter which replica gave the order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress


class PollNotifier:
    """For use in one event loop."""

    def __init__(self) -> None:
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._is_closed = False

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def subscribe(self, host: str) -> asyncio.Event:
        """Begin to listen; whatever is rung from now on is heard."""
        event = asyncio.Event()
        if self._is_closed:
            event.set()
        self._waiting.setdefault(host, set()).add(event)
        return event

    async def wait(self, event: asyncio.Event, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(event.wait(), seconds)

    def unsubscribe(self, host: str, event: asyncio.Event) -> None:
        events = self._waiting.get(host, set())
        events.discard(event)
        if not events:
            self._waiting.pop(host, None)

    def notify(self, hosts: Iterable[str]) -> None:
        for host in hosts:
            for event in self._waiting.get(host, ()):
                event.set()

    def close(self) -> None:
        """Wake everybody, now and from now on: the process ends."""
        self._is_closed = True
        self.notify(list(self._waiting))
