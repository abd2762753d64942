"""Attempts of dispatched code, any number of times -> a limited number of lines in the host's log.

Invariant: the first of a kind is logged at once; then the tenth, the hundredth and so on. The number of
kinds is bounded, so code with new ideas cannot fill a disk.
"""

from __future__ import annotations

from collections.abc import Callable

KINDS_MAX = 500
CHARACTERS_MAX = 300


class ThrottledLog:
    """Logs what happened, through `note`."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note
        self._times: dict[str, int] = {}

    def count_of(self, what: str) -> int:
        return self._times.get(what, 0)

    def add(self, what: str) -> None:
        what = "".join(sign if sign.isprintable() else "?" for sign in what[:CHARACTERS_MAX])
        if what not in self._times and len(self._times) >= KINDS_MAX:
            what = "further kinds of events are not logged"
        times = self._times[what] = self._times.get(what, 0) + 1
        if _is_round(times):
            self._note(what if times == 1 else f"{what} ({times:,} times)")


def _is_round(number: int) -> bool:
    return int(str(number)[1:] or 0) == 0 and str(number)[0] == "1"
