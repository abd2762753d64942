"""Events of a crawl -> the figures that a person watches, and the summary at its end."""

from __future__ import annotations

import time
from collections import Counter

import msgspec

WAIT_SECONDS_SHOWN = 5.0


class Progress(msgspec.Struct):
    """Counts of this run so far."""

    started_at: float = msgspec.field(default_factory=time.time)  # seconds since 1970, UTC
    pages: int = 0  # answers of any status
    seen: int = 0  # new or changed pages that went into the spool
    unchanged: int = 0
    gone: int = 0
    moved: int = 0
    listing: int = 0  # sitemaps and feeds
    failed: int = 0
    forbidden: int = 0  # by robots.txt
    put_off: int = 0  # to be tried again
    bytes_on_wire: int = 0
    found: int = 0  # new URLs
    packages: int = 0
    sites_open: int = 0
    failures: Counter[str] = msgspec.field(default_factory=Counter)
    last_failure: str = ""  # whose, and what was wrong
    waits_until: float = 0.0  # when a site may be asked again, while none is; 0: some site is asked

    def seconds(self) -> float:
        return max(0.0, time.time() - self.started_at)

    def pages_per_second(self) -> float:
        return self.pages / max(self.seconds(), 1e-9)

    def wait_text(self) -> str:
        """For how long no site may be asked, and why; empty where the next turn is near."""
        seconds = self.waits_until - time.time()
        if seconds < WAIT_SECONDS_SHOWN:
            return ""
        why = f" ({self.last_failure})" if self.last_failure else ""
        return f"{seconds:.0f} s until a site may be asked again{why}"

    def merge(self, other: Progress) -> None:
        """The sum with what another process of the same crawl has done."""
        self.started_at = min(self.started_at, other.started_at)
        for name in _SUMMED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.failures.update(other.failures)
        self.last_failure = other.last_failure or self.last_failure
        self.waits_until = min(self.waits_until, other.waits_until)

    def count(self, outcome: str, failure: str) -> None:
        """One visit more, by the word of its visit result."""
        if outcome in {"seen", "unchanged", "gone", "moved", "failed", "listing"}:
            self.pages += 1
        if outcome in _COUNTED:
            setattr(self, outcome, getattr(self, outcome) + 1)
        if failure:
            self.failures[failure] += 1


_COUNTED = frozenset({"seen", "unchanged", "gone", "moved", "failed", "forbidden", "put_off", "listing"})
_SUMMED = (*sorted(_COUNTED), "pages", "bytes_on_wire", "found", "packages", "sites_open")
