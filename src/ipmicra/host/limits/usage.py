"""Requests as they are made -> what each address cost, by day, and when the next one may start.

All traffic of the crawler passes here: fetches, probes and the connection to the coordinator (except
questions to name servers). Invariant: an address is in the store before the first packet of a day goes
to it. No request starts while the daily or monthly limit is reached, or faster than the owner's rates.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from zoneinfo import ZoneInfo

from ipmicra.host.limits.rate_limiter import RECHECK_SECONDS, HostRateLimiter
from ipmicra.host.limits.token_bucket import TokenBucket
from ipmicra.host.measuring.passive_round_trips import PassiveRoundTripBuffer
from ipmicra.host.settings import HostSettings
from ipmicra.host.store import Contact, HostStore
from ipmicra.model.fetches import FetchOutcome
from ipmicra.model.urls import Site

PROBES_PER_SECOND_MAX = 20
_Key = tuple[str, str, str, str]  # day, address, site, purpose


class UsageMeter:
    """Counts usage, and admits what the owner's limits allow."""

    def __init__(self, store: HostStore, settings: HostSettings, clock: Callable[[], datetime]) -> None:
        self._store, self._clock = store, clock
        self._guest_cpu_seconds = 0.0
        self.rate_limiter = HostRateLimiter(settings, self.cpu_seconds)
        self._unsaved: dict[_Key, Contact] = {}
        self._noted: set[_Key] = set()
        self.round_trips = PassiveRoundTripBuffer()
        self._probes = TokenBucket(PROBES_PER_SECOND_MAX)
        self._day = ""
        self.apply(settings)

    def apply(self, settings: HostSettings) -> None:
        """Use these rules from now on."""
        self._settings, self._zone = settings, ZoneInfo(settings.time_zone)
        self._upload = TokenBucket(settings.upload_bytes_per_second_max)
        self.rate_limiter.apply(settings)
        self._begin_day(self.today())

    # --- how much -----------------------------------------------------------------------------------

    def today(self) -> str:
        return self._clock().astimezone(self._zone).date().isoformat()

    def used_bytes(self) -> tuple[int, int]:
        """Bytes of the day and of the month, in both directions."""
        self._roll_over_day()
        return self._bytes_today, self._bytes_this_month

    def record_contact(self, address: str, site: str, purpose: str) -> None:
        """Record an address before the first packet; durable, once per day."""
        self._roll_over_day()
        key = (self._day, address, site, purpose)
        if key not in self._noted:
            self._store.add_contacts([Contact(*key, 0, 0, 0)])
            self._noted.add(key)

    def record_bytes(
        self,
        address: str,
        site: str,
        purpose: str,
        bytes_in: int,
        bytes_out: int,
        contacts: int = 1,
    ) -> None:
        """Record bytes after the response."""
        self._roll_over_day()
        key = (self._day, address, site, purpose)
        before = self._unsaved.get(key, Contact(*key, 0, 0, 0))
        self._unsaved[key] = Contact(
            *key, before.contacts + contacts, before.bytes_in + bytes_in, before.bytes_out + bytes_out
        )
        self._bytes_today += bytes_in + bytes_out
        self._bytes_this_month += bytes_in + bytes_out
        self.rate_limiter.record_download(bytes_in)

    def add_guest_cpu(self, cpu_seconds: float) -> None:
        """CPU time of a crawler in another process."""
        self._guest_cpu_seconds += cpu_seconds

    def cpu_seconds(self) -> float:
        return time.process_time() + self._guest_cpu_seconds

    def flush(self) -> None:
        """Write the counts to the store."""
        if self._unsaved:
            self._store.add_contacts(list(self._unsaved.values()))
            self._unsaved.clear()

    def _roll_over_day(self) -> None:
        day = self.today()
        if day != self._day:
            self.flush()
            self._begin_day(day)

    def _begin_day(self, day: str) -> None:
        self.flush()
        self._day = day
        self._noted.clear()
        self._bytes_today = self._store.bytes_since(day)
        self._bytes_this_month = self._store.bytes_since(f"{day[:8]}01")

    # --- when ---------------------------------------------------------------------------------------

    @asynccontextmanager
    async def request_slot(self) -> AsyncIterator[None]:
        """One connection, when bytes, rate and CPU allow it."""
        async with self.rate_limiter.request_slot():
            while not self.has_bytes_left():
                await asyncio.sleep(RECHECK_SECONDS)
            yield

    async def wait_for_probe(self) -> None:
        """One probe after the other, however many are ordered: a host is nobody's weapon."""
        now = time.monotonic()
        self._probes.consume(1, now)
        await asyncio.sleep(self._probes.seconds_to_wait(now))

    async def wait_for_upload(self, sent_bytes: int) -> None:
        """Wait until this number of bytes may be sent."""
        self._upload.consume(sent_bytes, time.monotonic())
        await asyncio.sleep(self._upload.seconds_to_wait(time.monotonic()))

    def has_bytes_left(self) -> bool:
        today, month = self.used_bytes()
        day_max, month_max = self._settings.bytes_per_day_max, self._settings.bytes_per_month_max
        return not ((day_max and today >= day_max) or (month_max and month >= month_max))

    # --- how near -----------------------------------------------------------------------------------

    def record_round_trip(self, site: Site, outcome: FetchOutcome, round_trip_ms: float | None) -> None:
        self.round_trips.record(site, outcome, round_trip_ms)
