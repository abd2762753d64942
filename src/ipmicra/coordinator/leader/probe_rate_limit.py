"""Wishes to probe -> how many may go out now: so many a second in all, so many an hour to an address.

Law: pure but for what it remembers; the moment comes in.
"""

from __future__ import annotations

from collections import deque

from ipmicra.addresses import IPAddress

HOUR_S = 3600.0
TARGETS_MAX = 100_000  # addresses remembered; the longest unprobed is forgotten


class ProbeRateLimit:
    """A bucket for all, and a window of an hour for each address."""

    def __init__(self, a_second_max: float, a_target_an_hour_max: int) -> None:
        self._a_second = a_second_max
        self._a_target = a_target_an_hour_max
        self._room = self._brim = max(1.0, a_second_max)
        self._filled_s: float | None = None
        self._probed_s: dict[IPAddress, deque[float]] = {}

    def has_room(self, now_s: float) -> bool:
        """Whether one more may go out in this moment."""
        since_s = 0.0 if self._filled_s is None else max(0.0, now_s - self._filled_s)
        self._filled_s = now_s
        self._room = min(self._brim, self._room + since_s * self._a_second)
        return self._room >= 1.0

    def spares(self, target: IPAddress, now_s: float) -> bool:
        """Whether the address has had enough for this hour."""
        times = self._probed_s.get(target)
        if times is None:
            return False
        while times and times[0] <= now_s - HOUR_S:
            times.popleft()
        return len(times) >= self._a_target

    def note(self, target: IPAddress, now_s: float) -> None:
        """A probe goes out."""
        self._room -= 1.0
        times = self._probed_s.pop(target, None) or deque()
        times.append(now_s)
        while len(self._probed_s) >= TARGETS_MAX:
            del self._probed_s[next(iter(self._probed_s))]
        self._probed_s[target] = times
