"""The fetches of one site from one address -> sums that are kept, and records for calibration."""

from __future__ import annotations

import msgspec

from ipmicra.model.fetches import Fetched, FetchOutcome
from ipmicra.model.records import FetchMeasurement
from ipmicra.model.urls import Site

UNCHANGED = 304


class FetchStatistics(msgspec.Struct):
    """Statistics of the fetches so far: sums, and the least round trip."""

    site: Site
    address: str
    fetches: int = 0
    round_trip_us: int | None = None  # as frontiers and states of sites have it written
    first_byte_ms: float = 0.0
    download_ms: float = 0.0
    bytes_on_wire: int = 0
    unchanged: int = 0
    answers: int = 0  # among the fetches: what the times are sums of; not kept in the frontier

    def add(self, outcome: FetchOutcome) -> None:
        self.fetches += 1
        self.bytes_on_wire += outcome.bytes_on_wire
        if isinstance(outcome, Fetched):
            timings = outcome.timings
            self.answers += 1
            self._saw_round_trip(timings.round_trip_ms)
            self.first_byte_ms += timings.first_byte_ms
            self.download_ms += timings.download_ms
            self.unchanged += outcome.status == UNCHANGED
        else:
            self._saw_round_trip(outcome.round_trip_ms)

    def merge(self, other: FetchStatistics) -> None:
        self.fetches += other.fetches
        self.bytes_on_wire += other.bytes_on_wire
        self.first_byte_ms += other.first_byte_ms
        self.download_ms += other.download_ms
        self.unchanged += other.unchanged
        self.answers += other.answers
        if other.round_trip_us is not None:
            self._saw_round_trip(other.round_trip_us / 1000)

    @property
    def first_byte_ms_mean(self) -> float | None:
        return self.first_byte_ms / self.answers if self.answers else None

    @property
    def download_ms_mean(self) -> float | None:
        return self.download_ms / self.answers if self.answers else None

    def record(self, now_ms: int) -> FetchMeasurement:
        """As packages carry it: their format has no None, and writes 0."""
        return FetchMeasurement(
            site=self.site,
            address=self.address,
            measured_at_ms=now_ms,
            fetches=self.fetches,
            round_trip_us=self.round_trip_us or 0,
            first_byte_ms=self.first_byte_ms_mean or 0.0,
            download_ms=self.download_ms_mean or 0.0,
            body_bytes=self.bytes_on_wire,
            unchanged=self.unchanged,
        )

    def _saw_round_trip(self, round_trip_ms: float | None) -> None:
        if round_trip_ms is not None:
            least = int(round_trip_ms * 1000)
            self.round_trip_us = least if self.round_trip_us is None else min(least, self.round_trip_us)
