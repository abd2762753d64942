"""A host's messages -> signed requests to the coordinator, and its responses.

The client is httpx: it comes with the web framework, verifies certificates, uses the machine's proxies,
and streams. Invariant: the host begins every request. Requests of one channel are sent one after the
other, each with a sequence number used once. An unavailable coordinator is an ordinary event
(`CoordinatorUnavailable`), a refusal is reported (`RequestRefused`), and a revoked host stops
(`HostRevoked`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from random import Random
from types import TracebackType
from typing import NamedTuple, Self, TypeVar
from urllib.parse import quote, urlsplit

import httpx
import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ipmicra import __version__
from ipmicra.errors import OperatorFault, SiteFault
from ipmicra.host.limits.usage import UsageMeter
from ipmicra.host.store import HostStore
from ipmicra.model.ids import LeaseEpoch, SiteEpoch
from ipmicra.protocol.foreign_bytes import UNREADABLE
from ipmicra.protocol.host_messages import (
    PROTOCOL_WITHOUT_NONE,
    Enrolled,
    Enrolment,
    Heartbeat,
    OfferedOrders,
    RefusalMessage,
    read_orders,
)
from ipmicra.protocol.signing import RequestSignature, signed_headers

CONNECT_SECONDS = 15.0
ANSWER_SECONDS = 60.0
POLL_SLACK_SECONDS = 20.0  # in addition to the requested wait
PIECE_BYTES = 64 << 10
ANSWER_BYTES_MAX = 128 << 20  # a site's state is the largest response; larger ones are given up
MEDIA_TYPE = "application/msgpack"
FINAL = frozenset({"unknown-host", "not-enrolled"})

_encode = msgspec.msgpack.Encoder().encode
MessageType = TypeVar("MessageType")


class _Answer(NamedTuple):
    status: int
    content: bytes


class CoordinatorUnavailable(Exception):
    """The coordinator cannot be reached, or fails."""


class RequestRefused(Exception):
    """The coordinator refuses this request, with a reason."""

    def __init__(self, refusal: RefusalMessage) -> None:
        super().__init__(refusal.reason)
        self.refusal = refusal


class HostRevoked(Exception):
    """The coordinator no longer accepts this host."""


class Backoff:
    """Delay after consecutive failures: doubling, with jitter, up to five minutes."""

    SECONDS_MAX = 300.0

    def __init__(self, dice: Random, seconds_first: float = 1.0) -> None:
        self._dice, self._first, self._failures = dice, seconds_first, 0

    def reset(self) -> None:
        self._failures = 0

    def next_delay_seconds(self) -> float:
        """The delay after one more failure."""
        longest = min(self._first * 2**self._failures, self.SECONDS_MAX)
        self._failures = min(self._failures + 1, 30)
        return self._dice.uniform(longest / 2, longest)


class CoordinatorConnection:
    """The connection of one enrolled host."""

    def __init__(
        self,
        coordinator: str,
        host: str,
        key: Ed25519PrivateKey,
        store: HostStore,
        meter: UsageMeter,
        source_address: str = "",
        clock_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._base, self._host, self._key = coordinator.rstrip("/"), host, key
        self._store, self._meter, self._clock_ms = store, meter, clock_ms
        self._ahead_ms = 0  # the coordinator's clock minus ours
        self._channels: dict[str, asyncio.Lock] = {}
        self._client = _client(source_address)
        self.coordinator_protocol = PROTOCOL_WITHOUT_NONE  # until the coordinator reports a newer one

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.aclose()

    async def poll_orders(self, wait_seconds: float) -> OfferedOrders:
        """Wait for orders. An empty response means that there are none."""
        path = f"/v1/host/orders?wait={wait_seconds:g}"
        answer = await self._request("orders", "POST", path, b"", wait_seconds + POLL_SLACK_SECONDS)
        try:
            offered = read_orders(answer)
        except UNREADABLE as error:
            raise CoordinatorUnavailable(f"a response that is not an Orders message: {error}") from error
        self.coordinator_protocol = offered.readable.protocol
        return offered

    async def send_heartbeat(self, heartbeat: Heartbeat) -> None:
        await self._request("reports", "POST", "/v1/host/report", _encode(heartbeat))

    async def put_package(self, sequence: int, digest: str, epoch: LeaseEpoch, data: bytes) -> None:
        """On return the coordinator holds the package durably."""
        path = f"/v1/host/packages/{sequence}?digest={digest}&epoch={epoch}"
        await self._request("packages", "PUT", path, data)

    async def put_state(self, site: str, epoch: SiteEpoch, data: bytes) -> None:
        path = f"/v1/host/states?site={quote(site, safe='')}&epoch={epoch}"
        await self._request("packages", "PUT", path, data)

    async def get_state(self, site: str) -> bytes | None:
        """The state of a site, left by its former crawler; None if there is none."""
        path = f"/v1/host/states?site={quote(site, safe='')}"
        return await self._request("packages", "GET", path, b"") or None

    async def deregister(self) -> None:
        await self._request("reports", "POST", "/v1/host/leave", b"")

    # --- one request --------------------------------------------------------------------------------

    async def _request(
        self, channel: str, method: str, path: str, body: bytes, seconds: float = ANSWER_SECONDS
    ) -> bytes:
        async with self._channels.setdefault(channel, asyncio.Lock()):
            answer = await self._send(channel, method, path, body, seconds)
            refusal = _refusal(answer)
            if refusal is not None and refusal.kind == "clock" and refusal.server_time_ms:
                self._ahead_ms = refusal.server_time_ms - self._clock_ms()
                answer = await self._send(channel, method, path, body, seconds)
                refusal = _refusal(answer)
        if refusal is None:
            return answer.content
        if refusal.kind in FINAL:
            raise HostRevoked(refusal.reason)
        raise RequestRefused(refusal)

    async def _send(self, channel: str, method: str, path: str, body: bytes, seconds: float) -> _Answer:
        sequence = self._store.next_sequence(channel)
        signature = RequestSignature(
            self._host, channel, self._clock_ms() + self._ahead_ms, sequence, b""
        )
        headers = {
            **signed_headers(self._key, method, path, body, signature),
            "content-type": MEDIA_TYPE,
            "content-length": str(len(body)),
        }
        timeout = httpx.Timeout(seconds, connect=CONNECT_SECONDS)
        try:
            async with self._client.stream(
                method, self._base + path, content=self._pieces(body), headers=headers, timeout=timeout
            ) as response:
                content = await _content(response)
                self._count(response, len(content), len(body))
                return _Answer(response.status_code, content)
        except httpx.HTTPError as error:
            why = str(error) or type(error).__name__
            raise CoordinatorUnavailable(
                f"asking {self._base} for {path.partition('?')[0]}: {why}"
            ) from error

    async def _pieces(self, body: bytes) -> AsyncIterator[bytes]:
        for at in range(0, len(body), PIECE_BYTES):
            piece = body[at : at + PIECE_BYTES]
            await self._meter.wait_for_upload(len(piece))
            yield piece

    def _count(self, response: httpx.Response, received: int, sent: int) -> None:
        stream = response.extensions.get("network_stream")
        server = stream.get_extra_info("server_addr") if stream is not None else None
        address = str(server[0]) if server else urlsplit(self._base).hostname or ""
        self._meter.record_bytes(address, self._base, "coordinator", received, sent)


async def enrol(coordinator: str, token: str, public_key: bytes) -> Enrolled:
    """Use the join token. Raises the fault of the party that can fix it."""
    url = f"{checked_coordinator(coordinator)}/v1/host/enrol"
    body = _encode(Enrolment(token=token, public_key=public_key, version=__version__))
    async with _client() as client:
        try:
            headers = {"content-type": MEDIA_TYPE}
            async with client.stream("POST", url, content=body, headers=headers) as response:
                answer = _Answer(response.status_code, await _content(response))
        except CoordinatorUnavailable as error:
            raise SiteFault(f"joining {coordinator}: {error}; is this a coordinator?") from error
        except httpx.HTTPError as error:
            why = str(error) or type(error).__name__
            raise SiteFault(f"joining {coordinator}: no answer: {why}; is the address right?") from error
    try:
        refusal = _refusal(answer)
        if refusal is None:
            return _decoded(answer.content, Enrolled)
    except CoordinatorUnavailable as error:
        raise SiteFault(f"joining {coordinator}: {error}; is this a coordinator?") from error
    raise OperatorFault(f"joining {coordinator}: {refusal.reason}")


def checked_coordinator(address: str) -> str:
    """The address of a coordinator: https, unless it is on this machine."""
    parts = urlsplit(address)
    is_here = (parts.hostname or "").startswith("127.") or parts.hostname in ("localhost", "::1")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise OperatorFault(f"{address!r} is not a coordinator's address; example: https://example.org")
    if parts.scheme == "http" and not is_here:
        raise OperatorFault(f"{address}: a coordinator on another machine is reached by https:// only")
    return address.rstrip("/")


def _client(source_address: str = "") -> httpx.AsyncClient:
    agent = {
        "user-agent": f"ipmicra-host/{__version__}",
        "accept": MEDIA_TYPE,
        "accept-encoding": "identity",
    }
    timeout = httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS)
    transport = httpx.AsyncHTTPTransport(local_address=source_address) if source_address else None
    return httpx.AsyncClient(headers=agent, timeout=timeout, transport=transport)


async def _content(response: httpx.Response) -> bytes:
    """The whole body. Bounded, so that no coordinator can fill a host's memory."""
    content = bytearray()
    async for piece in response.aiter_raw():
        content += piece
        if len(content) > ANSWER_BYTES_MAX:
            raise CoordinatorUnavailable(f"a response of more than {ANSWER_BYTES_MAX:,} bytes")
    return bytes(content)


def _refusal(answer: _Answer) -> RefusalMessage | None:
    """The coordinator's refusal; None for success. Any other error counts as unavailable."""
    if 200 <= answer.status < 300:
        return None
    if answer.status == 404:
        return RefusalMessage(kind="not-found", reason="not found")
    if answer.status in (400, 401, 403, 409, 413):
        try:
            return msgspec.msgpack.decode(answer.content, type=RefusalMessage)
        except UNREADABLE as error:
            raise CoordinatorUnavailable(f"a refusal ({answer.status}) that cannot be read") from error
    raise CoordinatorUnavailable(f"the coordinator answered {answer.status}")


def _decoded(data: bytes, kind: type[MessageType]) -> MessageType:
    try:
        return msgspec.msgpack.decode(data, type=kind)
    except UNREADABLE as error:
        raise CoordinatorUnavailable(f"a response that is not a {kind.__name__}: {error}") from error
