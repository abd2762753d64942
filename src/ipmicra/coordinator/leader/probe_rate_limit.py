"""Wanted probes -> whether one may be sent now: a limit per second for all, a limit per hour per address.

Invariant: no I/O and no clock; the current time is a parameter.
"""

from __future__ import annotations

from collections import deque

from ipmicra.addresses import IPAddress

HOUR_S = 3600.0
TARGETS_MAX = 100_000  # addresses remembered; the one probed longest ago is forgotten first


class ProbeRateLimit:
    """A token bucket for all probes, and a sliding window of one hour per address."""

    def __init__(self, per_second_max: float, per_target_an_hour_max: int) -> None:
        self._per_second = per_second_max
        self._per_target = per_target_an_hour_max
        self._tokens = self._tokens_max = max(1.0, per_second_max)
        self._filled_s: float | None = None
        self._probed_s: dict[IPAddress, deque[float]] = {}

    def has_capacity(self, now_s: float) -> bool:
        """Whether the limit of all probes allows one more now."""
        since_s = 0.0 if self._filled_s is None else max(0.0, now_s - self._filled_s)
        self._filled_s = now_s
        self._tokens = min(self._tokens_max, self._tokens + since_s * self._per_second)
        return self._tokens >= 1.0

    def is_exhausted(self, target: IPAddress, now_s: float) -> bool:
        """Whether the address has reached its limit for this hour."""
        times = self._probed_s.get(target)
        if times is None:
            return False
        while times and times[0] <= now_s - HOUR_S:
            times.popleft()
        return len(times) >= self._per_target

    def record(self, target: IPAddress, now_s: float) -> None:
        """Count a probe that is sent."""
        self._tokens -= 1.0
        times = self._probed_s.pop(target, None) or deque()
        times.append(now_s)
        while len(self._probed_s) >= TARGETS_MAX:
            del self._probed_s[next(iter(self._probed_s))]
        self._probed_s[target] = times
