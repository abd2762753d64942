"""Orders given somewhere -> the long polls that wait for them, woken.

Invariant: the rows are the truth and a notification is only a hint: a poll that is woken reads the rows,
and a poll that is missed ends by its timeout. Notifications come from the rows, so any replica may give the
order.
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
        """Wait for notifications from now on."""
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
        """Wake all polls, now and from now on: the process ends."""
        self._is_closed = True
        self.notify(list(self._waiting))
