"""Completed fetches -> round trips by site and address, for the coordinator's calibration.

Invariant: bounded. Unsent entries are dropped, oldest first. A time that no fetch showed is None.
"""

from __future__ import annotations

from collections.abc import Iterable

from ipmicra.crawler.fetch_statistics import FetchStatistics
from ipmicra.model.fetches import FetchOutcome
from ipmicra.model.urls import Site
from ipmicra.protocol.host_messages import Passive

UNSENT_MAX = 10_000


class PassiveRoundTripBuffer:
    """The measurements since the last drain."""

    def __init__(self) -> None:
        self._measured: dict[tuple[str, str], FetchStatistics] = {}
        self._least_ms: dict[tuple[str, str], float] = {}
        self._from_guest: list[Passive] = []

    def record(self, site: Site, outcome: FetchOutcome, round_trip_ms: float | None) -> None:
        """Record what a fetch showed."""
        if outcome.address is None:
            return
        key = (site, str(outcome.address))
        self._measured.setdefault(key, FetchStatistics(site, key[1])).add(outcome)
        if round_trip_ms is not None:
            self._least_ms[key] = min(round_trip_ms, self._least_ms.get(key, round_trip_ms))

    def add(self, measured: Iterable[Passive]) -> None:
        """Add what a crawler in another process has measured."""
        self._from_guest += measured
        del self._from_guest[:-UNSENT_MAX]

    def drain(self, most: int) -> list[Passive]:
        from_guest, self._from_guest = self._from_guest[:most], self._from_guest[most:]
        taken = list(self._measured)[: most - len(from_guest)]
        measured = (_passive(self._measured.pop(key), self._least_ms.pop(key, None)) for key in taken)
        return [*from_guest, *measured]


def _passive(seen: FetchStatistics, round_trip_ms: float | None) -> Passive:
    return Passive(
        site=seen.site,
        address=seen.address,
        round_trip_ms=round_trip_ms,
        first_byte_ms=seen.first_byte_ms_mean,
        download_ms=seen.download_ms_mean,
        fetches=seen.fetches,
        body_bytes=seen.bytes_on_wire,
    )
