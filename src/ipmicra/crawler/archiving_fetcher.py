"""A fetcher -> the same fetcher, with every answer also written to a WARC file as it crossed the wire."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

import msgspec

from ipmicra.addresses import IPAddress
from ipmicra.carrier.warc import WarcWriter
from ipmicra.model.fetches import Fetched, Fetcher, FetchFailed, FetchOutcome, FetchRequest


class ArchivingFetcher:
    """Requests raw bytes from the inner fetcher and archives them. Closes the file on exit."""

    def __init__(self, within: Fetcher, writer: WarcWriter) -> None:
        self._within, self._writer = within, writer

    async def __aenter__(self) -> Self:
        await self._within.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._within.__aexit__(kind, value, trace)
        finally:
            self._writer.close()

    async def fetch(self, request: FetchRequest) -> FetchOutcome:
        outcome = await self._within.fetch(msgspec.structs.replace(request, keep_raw=True))
        if isinstance(outcome, Fetched) and outcome.raw is not None:
            raw = outcome.raw
            at_ms = time.time_ns() // 1_000_000
            self._writer.write(outcome.url, at_ms, str(outcome.address), raw.request, raw.response)
        return outcome

    async def locate(self, url: str) -> IPAddress | FetchFailed:
        return await self._within.locate(url)
