"""Requests of strangers -> answered, or 429 with the seconds to wait: a rate per client and kind of question.

Invariant: no client's requests count against another's, and memory is bounded. A client is an IPv4 address
or an IPv6 /64; behind a trusted proxy, the one that the proxy names.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from ipmicra.net.head_requests import AsgiApplication
from ipmicra.net.http_server import client_key

CLIENTS_MAX = 50_000  # remembered; the one that asked longest ago is forgotten first
BURST_SECONDS = 10.0  # of the rate may be asked at once


class ClientRates:
    """A token bucket for each client; a rate of 0 is no limit."""

    def __init__(self, per_second_max: float) -> None:
        self._rate = per_second_max
        self._tokens_max = max(1.0, per_second_max * BURST_SECONDS)
        self._clients: OrderedDict[str, tuple[float, float]] = OrderedDict()  # tokens, and when

    def __len__(self) -> int:
        """The number of clients that are remembered."""
        return len(self._clients)

    def wait_seconds(self, client: str, now_s: float) -> float:
        """0 if the client may ask now, and then it is counted; otherwise the seconds until it may."""
        if not self._rate:
            return 0.0
        tokens, at_s = self._clients.pop(client, (self._tokens_max, now_s))
        tokens = min(self._tokens_max, tokens + max(0.0, now_s - at_s) * self._rate)
        wait_s = 0.0 if tokens >= 1.0 else (1.0 - tokens) / self._rate
        self._clients[client] = (tokens if wait_s else tokens - 1.0, now_s)
        if len(self._clients) > CLIENTS_MAX:
            self._clients.popitem(last=False)
        return wait_s


class RateLimited:
    """An ASGI application in front of another; `per_second` has the rates, by path."""

    def __init__(
        self,
        application: AsgiApplication,
        per_second: Mapping[str, float],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._application, self._clock = application, clock
        self._rates = {path: ClientRates(rate) for path, rate in per_second.items()}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        rates = self._rates.get(scope["path"]) if scope["type"] == "http" else None
        if rates is not None:
            client = client_key(scope["client"][0]) if scope.get("client") else ""
            if wait_s := rates.wait_seconds(client, self._clock()):
                await send_refusal(send, 429, "you ask too often", math.ceil(wait_s))
                return
        await self._application(scope, receive, send)


async def send_refusal(send: Any, status: int, reason: str, retry_s: int) -> None:
    body = f"{reason}; ask again in {retry_s} s\n".encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        (b"retry-after", str(retry_s).encode()),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
