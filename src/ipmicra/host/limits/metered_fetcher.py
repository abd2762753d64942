"""A fetcher -> the same, within the owner's limits and recorded in the host's store."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Protocol, Self

from ipmicra.addresses import IPAddress
from ipmicra.model.fetches import Fetcher, FetchFailed, FetchOutcome, FetchRequest
from ipmicra.model.urls import Site, Url, site_of
from ipmicra.probing.passive import PassiveRoundTrips

REQUEST_HEAD_BYTES = 300  # an estimate of what is sent besides the URL


class Metering(Protocol):
    """Admits requests and counts them."""

    def request_slot(self) -> AbstractAsyncContextManager[None]: ...

    def record_contact(self, address: str, site: str, purpose: str) -> None: ...

    def record_bytes(
        self, address: str, site: str, purpose: str, bytes_in: int, bytes_out: int
    ) -> None: ...

    def record_round_trip(
        self, site: Site, outcome: FetchOutcome, round_trip_ms: float | None
    ) -> None: ...


class MeteredFetcher:
    """Every request waits for a slot and is counted."""

    def __init__(self, within: Fetcher, meter: Metering, passive: PassiveRoundTrips) -> None:
        self._within, self._meter, self._passive = within, meter, passive

    async def __aenter__(self) -> Self:
        await self._within.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._within.__aexit__(kind, value, trace)

    async def locate(self, url: str) -> IPAddress | FetchFailed:
        return await self._within.locate(url)

    async def fetch(self, request: FetchRequest) -> FetchOutcome:
        site = site_of(Url(request.url))
        async with self._meter.request_slot():
            located = await self._within.locate(request.url)
            if isinstance(located, FetchFailed):
                return located
            self._meter.record_contact(str(located), site, "fetch")
            outcome = await self._within.fetch(request)
        self._count(site, request, outcome)
        return outcome

    def _count(self, site: Site, request: FetchRequest, outcome: FetchOutcome) -> None:
        if outcome.address is not None:
            sent = REQUEST_HEAD_BYTES + len(request.url)
            self._meter.record_bytes(str(outcome.address), site, "fetch", outcome.bytes_on_wire, sent)
        self._meter.record_round_trip(site, outcome, self._passive.record_outcome(outcome))
