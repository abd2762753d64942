"""The owner's rates, as code in a sandbox knows them -> requests begun at that pace, round trips kept.

Law: this is courtesy, so that the dock need not hold the crawler up; what counts is what the dock counts.
The processor's share is the dock's alone, which knows whether the machine is in use.
"""

from __future__ import annotations

import msgspec

from ipmicra.host.limits.rate_limiter import HostRateLimiter
from ipmicra.host.measuring.passive_round_trips import PassiveRoundTripBuffer
from ipmicra.host.settings import HostSettings
from ipmicra.model.fetches import FetchOutcome
from ipmicra.model.urls import Site


class GuestLimiter(HostRateLimiter):
    """What a metered fetcher wants, without a ledger."""

    def __init__(self, settings: HostSettings) -> None:
        super().__init__(settings)
        self.round_trips = PassiveRoundTripBuffer()

    def apply(self, settings: HostSettings) -> None:
        super().apply(msgspec.structs.replace(settings, cpu_share_max=0.0))

    def record_contact(self, address: str, site: str, purpose: str) -> None:
        """The broker has noted it."""

    def record_bytes(self, address: str, site: str, purpose: str, bytes_in: int, bytes_out: int) -> None:
        self.record_download(bytes_in)

    def record_round_trip(self, site: Site, outcome: FetchOutcome, round_trip_ms: float | None) -> None:
        self.round_trips.record(site, outcome, round_trip_ms)
