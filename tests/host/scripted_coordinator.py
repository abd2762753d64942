"""A small real HTTP server that a test tells what to order; it checks requests as the coordinator does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec

from ipmicra.carrier.package import digest_of, unpack
from ipmicra.model.ids import LeaseEpoch
from ipmicra.model.records import FetchMeasurement, PageSeen
from ipmicra.protocol.host_messages import (
    PROTOCOL,
    Ack,
    Enrolled,
    Enrolment,
    Heartbeat,
    Order,
    OrderBody,
    OrderDone,
    Orders,
    RefusalMessage,
)
from ipmicra.protocol.signing import CLOCK_SKEW_MS_MAX, is_genuine, signature_in

CONFLICTS = frozenset({"epoch", "number", "sequence", "digest"})
TOKEN = "a-token-that-works-once"
_encode = msgspec.msgpack.Encoder().encode


class Refused(Exception):
    def __init__(self, kind: str, reason: str = "no") -> None:
        super().__init__(reason)
        self.status, self.kind = 409 if kind in CONFLICTS else 403, kind


class Asked(NamedTuple):
    method: str
    path: str  # without the query
    query: dict[str, str]
    body: bytes


class ScriptedCoordinator:
    """One host's coordinator. Set its fields to change its mind."""

    def __init__(self) -> None:
        self.token, self.host, self.public_key = TOKEN, "lima", b""
        self.orders: dict[int, Order] = {}
        self.raw_orders: dict[
            int, dict[str, object]
        ] = {}  # bodies as a newer coordinator would write them
        self.done: dict[int, OrderDone] = {}
        self.heartbeats: list[Heartbeat] = []
        self.packages: dict[int, tuple[int, bytes]] = {}  # by number: epoch and bytes
        self.states: dict[str, bytes] = {}
        self.sequences: dict[str, list[int]] = {}
        self.waits: list[float] = []  # seconds that the host would wait for orders
        self.epoch, self.lease_s, self.clock_ahead_ms = 0, 60.0, 0
        self.away, self.revoked, self.left = False, False, False
        self.port = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def give(self, body: OrderBody) -> int:
        number = len(self.orders) + len(self.raw_orders) + 1
        self.orders[number] = Order(number=number, body=body)
        return number

    def give_raw(self, **body: object) -> int:
        """An order of a version that is not this one."""
        number = len(self.orders) + len(self.raw_orders) + 1
        self.raw_orders[number] = body
        return number

    async def until(self, happened: Callable[[], object], seconds: float = 40.0) -> None:
        """Wait for what the host does."""
        async with asyncio.timeout(seconds):
            while not happened():
                await asyncio.sleep(0.02)

    def pages(self) -> list[str]:
        """The URLs of all pages that came home, in order, twice where they came twice."""
        records = [
            record
            for _, (_, data) in sorted(self.packages.items())
            for record in unpack(data).records
            if not isinstance(record, FetchMeasurement)
        ]
        return [record.url for record in records if isinstance(record, PageSeen)]

    @asynccontextmanager
    async def serving(self, port: int = 0) -> AsyncIterator[ScriptedCoordinator]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", port)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            await server.wait_closed()

    # --- HTTP ---------------------------------------------------------------------------------------

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while not self.away:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                first, *lines = head.strip().split("\r\n")
                pairs = [line.partition(":") for line in lines]
                headers = {name.lower(): value.strip() for name, _, value in pairs}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                method, target, _ = first.split(" ")
                if self._went_away():
                    break
                status, answer = await self._answered(method, target, headers, body)
                writer.write(
                    f"HTTP/1.1 {status} X\r\nContent-Length: {len(answer)}\r\n\r\n".encode() + answer
                )
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answered(
        self, method: str, target: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, bytes]:
        parts = urlsplit(target)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        asked = Asked(method, unquote(parts.path), query, body)
        try:
            if asked.path != "/v1/host/enrol":
                self._admit(method, target, headers, body)
            return 200, await self.respond(asked)
        except Refused as refused:
            now_ms = self._now_ms()
            refusal = RefusalMessage(kind=refused.kind, reason=str(refused), server_time_ms=now_ms)
            return refused.status, _encode(refusal)

    def _went_away(self) -> bool:
        return self.away

    def _now_ms(self) -> int:
        return time.time_ns() // 1_000_000 + self.clock_ahead_ms

    def _admit(self, method: str, target: str, headers: dict[str, str], body: bytes) -> None:
        claim = signature_in(headers)
        if claim is None:
            raise Refused("unsigned")
        if claim.host != self.host or self.revoked or self.left:
            raise Refused("not-enrolled")
        digest = digest_of(body)
        if not is_genuine(self.public_key, method, target, claim.digest or digest, claim):
            raise Refused("signature")
        if claim.digest not in ("", digest):
            raise Refused("digest")
        if abs(claim.time_ms - self._now_ms()) > CLOCK_SKEW_MS_MAX:
            raise Refused("clock")
        used = self.sequences.setdefault(claim.channel, [])
        if used and claim.sequence <= used[-1]:
            raise Refused("sequence")
        used.append(claim.sequence)

    # --- the six things a host asks -----------------------------------------------------------------

    async def respond(self, asked: Asked) -> bytes:
        match (asked.method, asked.path):
            case ("POST", "/v1/host/enrol"):
                return self._enrol(msgspec.msgpack.decode(asked.body, type=Enrolment))
            case ("POST", "/v1/host/orders"):
                await self._wait_for_orders(float(asked.query["wait"]))
                return self._offered()
            case ("POST", "/v1/host/report"):
                self._hear(msgspec.msgpack.decode(asked.body, type=Heartbeat))
            case ("PUT", "/v1/host/states"):
                self.states[asked.query["site"]] = asked.body
            case ("GET", "/v1/host/states"):
                if asked.query["site"] not in self.states:
                    raise Refused("not-owner")
                return self.states[asked.query["site"]]
            case ("POST", "/v1/host/leave"):
                self.left = True
            case ("PUT", path):
                self._keep_package(int(path.rpartition("/")[2]), asked)
        return _encode(self._ack())

    def _ack(self) -> Ack:
        return Ack(
            server_time_ms=self._now_ms(),
            epoch=LeaseEpoch(self.epoch),
            lease_s=self.lease_s,
            protocol=PROTOCOL,
        )

    def _offered(self) -> bytes:
        raw = [
            {"number": number, "body": body}
            for number, body in self.raw_orders.items()
            if number not in self.done
        ]
        told = msgspec.to_builtins(self._orders())
        return _encode({**told, "orders": [*raw, *told["orders"]]})

    def _orders(self) -> Orders:
        open_ones = [order for number, order in self.orders.items() if number not in self.done]
        return Orders(
            orders=tuple(open_ones),
            server_time_ms=self._now_ms(),
            epoch=LeaseEpoch(self.epoch),
            lease_s=self.lease_s,
            protocol=PROTOCOL,
        )

    async def _wait_for_orders(self, seconds: float) -> None:
        self.waits.append(seconds)
        end = time.monotonic() + min(seconds, 2.0)
        known = self.epoch
        while time.monotonic() < end and not self._orders().orders and self.epoch == known:
            await asyncio.sleep(0.02)

    def _enrol(self, enrolment: Enrolment) -> bytes:
        if enrolment.token != self.token:
            raise Refused("token", "this join token is used up")
        self.token, self.public_key = "", enrolment.public_key
        return _encode(Enrolled(host=self.host, server_time_ms=self._now_ms()))

    def _hear(self, heartbeat: Heartbeat) -> None:
        self.heartbeats.append(heartbeat)
        for done in heartbeat.done:
            self.done.setdefault(done.number, done)

    def _keep_package(self, number: int, asked: Asked) -> None:
        if digest_of(asked.body) != asked.query["digest"]:
            raise Refused("digest")
        epoch = int(asked.query["epoch"])
        known = self.packages.get(number)
        if known is not None and known[1] != asked.body:
            raise Refused("number")
        if known is None and epoch != self.epoch:
            raise Refused("epoch", "made in an epoch that has ended")
        self.packages[number] = (epoch, asked.body)
