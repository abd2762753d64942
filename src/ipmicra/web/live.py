"""Samples -> events for open pages (server-sent events), or the latest sample as JSON.

Invariant: at most `WATCHERS_MAX` streams; further clients are told to poll. A stream sends something at least
every `HEARTBEAT_SECONDS`, and ends when the server stops.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec
from litestar import Response, get
from litestar.handlers import HTTPRouteHandler
from litestar.response import Stream

from ipmicra.web.navigation import NO_STORE
from ipmicra.web.pages.overview import overview_figures
from ipmicra.web.sampler import Sampler, StatusSample

WATCHERS_MAX = 100
HEARTBEAT_SECONDS = 15.0
RETRY_MS = 3_000


class Live:
    """Serves the streams, and counts them."""

    def __init__(self, sampler: Sampler) -> None:
        self._sampler = sampler
        self.watchers = 0

    def handlers(self) -> list[HTTPRouteHandler]:
        @get("/live", include_in_schema=False)
        async def live() -> Response[bytes] | Stream:
            if self.watchers >= WATCHERS_MAX or self._sampler.is_closed:
                return Response(b"", status_code=503, headers={"Retry-After": "10"})
            headers = NO_STORE | {"X-Accel-Buffering": "no"}
            return Stream(self.events, media_type="text/event-stream", headers=headers)

        @get("/figures", include_in_schema=False)
        async def once() -> Response[bytes]:
            body = sample_event(await self._sampler.now())
            return Response(body, media_type="application/json", headers=NO_STORE)

        return [live, once]

    async def events(self) -> AsyncIterator[bytes]:
        self.watchers += 1
        try:
            yield f"retry: {RETRY_MS}\n\n".encode()
            async for sample in self._sampler.samples(HEARTBEAT_SECONDS):
                yield b": here\n\n" if sample is None else b"data: " + sample_event(sample) + b"\n\n"
        finally:
            self.watchers -= 1


def sample_event(sample: StatusSample) -> bytes:
    """Texts by the key of their figure, and the newest point of the curves."""
    texts: dict[str, str] = {}
    for figure in overview_figures(sample):
        texts |= {figure.key: figure.number, f"{figure.key}-note": figure.note}
    point = sample.point
    curves = [point.at_s, point.pages_a_second, point.saved_byte_ms]
    return msgspec.json.encode({"texts": texts, "point": curves})
