"""Sign-in attempts -> whether one more is allowed: a limit per address, and a limit for all.

Invariant: no I/O and no clock; the memory is bounded, and the current time is a parameter.
"""

from __future__ import annotations

from collections import deque

WINDOW_SECONDS = 300.0
TRIES_OF_ONE_MAX = 10
TRIES_OF_ALL_MAX = 100


class SignInThrottle:
    """A window of time with the tries in it, oldest first."""

    def __init__(self) -> None:
        self._tries: deque[tuple[float, str]] = deque()

    def allows(self, address: str, now_s: float) -> bool:
        """Whether this address may try now; if so, the try is counted."""
        while self._tries and self._tries[0][0] <= now_s - WINDOW_SECONDS:
            self._tries.popleft()
        of_one = sum(1 for _, who in self._tries if who == address)
        if of_one >= TRIES_OF_ONE_MAX or len(self._tries) >= TRIES_OF_ALL_MAX:
            return False
        self._tries.append((now_s, address))
        return True

    def forgive(self, address: str) -> None:
        """Forget the attempts of an address after a successful sign-in."""
        self._tries = deque(entry for entry in self._tries if entry[1] != address)
