"""What dispatched code tried, again and again -> lines in the host's log, few however often it tries.

Law: the first of a kind is written at once; then the tenth, the hundredth and so on. The kinds that are
remembered are bounded, so code that thinks of new things to try cannot fill a disk with them.
"""

from __future__ import annotations

from collections.abc import Callable

KINDS_MAX = 500
CHARACTERS_MAX = 300


class ThrottledLog:
    """Writes down what happened, through `note`."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note
        self._times: dict[str, int] = {}

    def count_of(self, what: str) -> int:
        return self._times.get(what, 0)

    def add(self, what: str) -> None:
        what = "".join(sign if sign.isprintable() else "?" for sign in what[:CHARACTERS_MAX])
        if what not in self._times and len(self._times) >= KINDS_MAX:
            what = "and more of the like, too much to write down"
        times = self._times[what] = self._times.get(what, 0) + 1
        if _is_round(times):
            self._note(what if times == 1 else f"{what} ({times:,} times)")


def _is_round(number: int) -> bool:
    return int(str(number)[1:] or 0) == 0 and str(number)[0] == "1"
