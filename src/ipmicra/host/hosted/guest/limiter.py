"""The owner's rates, as code in a sandbox knows them -> requests started at that pace, round trips
recorded.

Invariant: this is cooperation, so that the host need not freeze the crawler; only the host's own count
matters. The CPU share is left to the host, which knows whether the machine is in use.
"""

from __future__ import annotations

import msgspec

from ipmicra.host.limits.rate_limiter import HostRateLimiter
from ipmicra.host.measuring.passive_round_trips import PassiveRoundTripBuffer
from ipmicra.host.settings import HostSettings
from ipmicra.model.fetches import FetchOutcome
from ipmicra.model.urls import Site


class GuestLimiter(HostRateLimiter):
    """The limits that a metered fetcher needs, without a store."""

    def __init__(self, settings: HostSettings) -> None:
        super().__init__(settings)
        self.round_trips = PassiveRoundTripBuffer()

    def apply(self, settings: HostSettings) -> None:
        super().apply(msgspec.structs.replace(settings, cpu_share_max=0.0))

    def record_contact(self, address: str, site: str, purpose: str) -> None:
        """Nothing to do: the broker has recorded it."""

    def record_bytes(self, address: str, site: str, purpose: str, bytes_in: int, bytes_out: int) -> None:
        self.record_download(bytes_in)

    def record_round_trip(self, site: Site, outcome: FetchOutcome, round_trip_ms: float | None) -> None:
        self.round_trips.record(site, outcome, round_trip_ms)
