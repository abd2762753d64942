"""Responses in progress and the time -> those to abort, and the reasons.

One sweep over all, a few times per second, instead of a timer for each fetch. Invariant: the decision is
a pure function of a response, the time and the settings.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic

from ipmicra.crawler.fetching.partial_response import PartialResponse
from ipmicra.crawler.fetching.settings import FetchingSettings
from ipmicra.model.failures import FailureKind

SWEEP_MS_MAX = 250
SWEEPS_PER_LIMIT = 8  # so that the shortest limit is kept within an eighth


def overdue(
    incoming: PartialResponse, now: float, settings: FetchingSettings
) -> tuple[FailureKind, str] | None:
    """The deadline that this response has missed, or None."""
    waited_ms = (now - incoming.started_at) * 1000
    if waited_ms > settings.total_ms_max:
        return FailureKind.TOO_LONG, f"not finished after {settings.total_ms_max} ms"
    if not incoming.wire_bytes:
        if waited_ms > settings.first_byte_ms_max:
            return FailureKind.SILENT, f"no byte after {settings.first_byte_ms_max} ms"
        return None
    arriving_ms = (now - (incoming.first_byte_at or incoming.started_at)) * 1000
    if arriving_ms < settings.rate_grace_ms:
        return None
    rate = incoming.wire_bytes * 1000 / arriving_ms
    if rate < settings.rate_bytes_per_second_min:
        return FailureKind.TOO_SLOW, f"{rate:.0f} bytes/s after {arriving_ms:.0f} ms"
    return None


class Deadlines:
    """Watches answers from `watch` to `forget`, and calls `also` on each sweep."""

    def __init__(self, settings: FetchingSettings, also: Callable[[float], None]) -> None:
        self._settings = settings
        self._also = also
        self._watched: set[PartialResponse] = set()
        self._timer: asyncio.TimerHandle | None = None
        shortest_ms = min(settings.first_byte_ms_max, settings.total_ms_max, settings.rate_grace_ms)
        self._sweep_seconds = max(5.0, min(SWEEP_MS_MAX, shortest_ms / SWEEPS_PER_LIMIT)) / 1000

    def watch(self, incoming: PartialResponse) -> None:
        self._watched.add(incoming)

    def forget(self, incoming: PartialResponse) -> None:
        self._watched.discard(incoming)

    def start(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._sweep_seconds, self._sweep)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def fail_all(self, kind: FailureKind, detail: str) -> None:
        for incoming in list(self._watched):
            if incoming.connection is not None:
                incoming.connection.fail(kind, detail)

    def _sweep(self) -> None:
        now = monotonic()
        for incoming in list(self._watched):
            verdict = overdue(incoming, now, self._settings)
            if verdict is not None and incoming.connection is not None:
                incoming.connection.fail(*verdict)
        self._also(now)
        self.start()
