"""Outcomes of fetches -> the smallest recent round trip per address: probes that cost nothing.

Invariant: bounded in number and age. The smallest counts, since every disturbance makes a packet later;
but only within a time window, since routes change.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

from ipmicra.addresses import IPAddress
from ipmicra.model.fetches import FetchOutcome
from ipmicra.probing.result import ProbeOutcome, round_trip_in
from ipmicra.probing.settings import ProbingSettings


class PassiveRoundTrips:
    """Round trips that fetches have shown."""

    def __init__(self, settings: ProbingSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self._seen: OrderedDict[IPAddress, tuple[float, float]] = OrderedDict()  # ms, and when

    def __len__(self) -> int:
        return len(self._seen)

    def record_outcome(self, outcome: FetchOutcome) -> float | None:
        """Record a fetch, a success or a failure after connecting. Returns its round trip."""
        round_trip_ms = round_trip_in(outcome, self._settings.by_answers)
        if outcome.address is None or round_trip_ms is None:
            return None
        self.record(outcome.address, round_trip_ms)
        return round_trip_ms

    def record(self, address: IPAddress, round_trip_ms: float) -> None:
        """Record a round trip that was measured just now."""
        now = self._clock()
        known = self._seen.get(address)
        if known is None or round_trip_ms <= known[0] or self._is_old(known, now):
            self._remember(address, round_trip_ms, now)

    def recent(self, address: IPAddress) -> ProbeOutcome | None:
        """The round trip to that address, if a recent fetch has shown it."""
        seen = self._seen.get(address)
        if seen is None or self._is_old(seen, self._clock()):
            return None
        return ProbeOutcome(method="passive", round_trip_ms=seen[0])

    def _is_old(self, seen: tuple[float, float], now: float) -> bool:
        return now - seen[1] > self._settings.passive_seconds_max

    def _remember(self, address: IPAddress, round_trip_ms: float, now: float) -> None:
        self._seen[address] = (round_trip_ms, now)
        self._seen.move_to_end(address)
        if len(self._seen) > self._settings.passive_addresses_max:
            self._seen.popitem(last=False)
