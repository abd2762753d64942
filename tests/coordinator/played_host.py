"""A host for tests: it signs and sends what a script says, over real HTTP, and nothing else."""

from __future__ import annotations

import http.client
import time
import urllib.parse
from collections import Counter
from typing import NamedTuple, TypeVar

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ipmicra.carrier.package import digest_of
from ipmicra.protocol.host_messages import (
    Enrolled,
    Enrolment,
    Heartbeat,
    OrderDone,
    Orders,
    ProbeResult,
    RefusalMessage,
)
from ipmicra.protocol.signing import RequestSignature, signed_headers

Wanted = TypeVar("Wanted")


class Reply(NamedTuple):
    status: int
    body: bytes

    def read(self, kind: type[Wanted]) -> Wanted:
        assert self.status == 200, (self.status, self.refusal() if self.status < 500 else self.body)
        return msgspec.msgpack.decode(self.body, type=kind)

    def refusal(self) -> RefusalMessage:
        return msgspec.msgpack.decode(self.body, type=RefusalMessage)


class PlayedHost:
    """One host with its key. `address` is the loopback address that it calls from."""

    def __init__(self, port: int, name: str, address: str = "127.0.0.1") -> None:
        self.port = port
        self.name = name
        self.address = address
        self.key = Ed25519PrivateKey.generate()
        self.sequences: Counter[str] = Counter()
        self.epoch = 0

    def enrol(self, token: str) -> Reply:
        public = self.key.public_key().public_bytes_raw()
        body = msgspec.msgpack.encode(Enrolment(token=token, public_key=public, version="test"))
        reply = self.send("POST", "/v1/host/enrol", body, {})
        if reply.status == 200:
            assert reply.read(Enrolled).host == self.name
        return reply

    def orders(self, wait: float = 0) -> Orders:
        reply = self.ask("POST", f"/v1/host/orders?wait={wait:g}", "orders")
        return self._heard(reply.read(Orders))

    def report(self, *done: OrderDone, **said: object) -> Orders:
        heartbeat = Heartbeat(done=done, **said)  # type: ignore[arg-type] # any of its fields
        reply = self.ask("POST", "/v1/host/report", "reports", msgspec.msgpack.encode(heartbeat))
        return self._heard(reply.read(Orders))

    def answer_probe(self, number: int, site: str, address: str, round_trip_ms: float | None) -> None:
        result = ProbeResult(site=site, address=address, round_trip_ms=round_trip_ms, way="head")
        self.report(OrderDone(number=number, probes=(result,)))

    def send_package(self, sequence: int, data: bytes, epoch: int | None = None) -> Reply:
        epoch = self.epoch if epoch is None else epoch
        path = f"/v1/host/packages/{sequence}?digest={digest_of(data)}&epoch={epoch}"
        return self.ask("PUT", path, "packages", data)

    def leave_state(self, site: str, epoch: int, state: bytes) -> Reply:
        query = urllib.parse.urlencode({"site": site, "epoch": epoch})
        return self.ask("PUT", f"/v1/host/states?{query}", "packages", state)

    def fetch_state(self, site: str) -> Reply:
        return self.ask("GET", f"/v1/host/states?{urllib.parse.urlencode({'site': site})}", "packages")

    def leave(self) -> Reply:
        return self.ask("POST", "/v1/host/leave", "reports")

    def ask(self, method: str, path: str, channel: str, body: bytes = b"") -> Reply:
        return self.send(method, path, body, self.signed(method, path, channel, body))

    def signed(self, method: str, path: str, channel: str, body: bytes) -> dict[str, str]:
        self.sequences[channel] += 1
        claim = RequestSignature(
            self.name, channel, int(time.time() * 1000), self.sequences[channel], b""
        )
        return signed_headers(self.key, method, path, body, claim)

    def send(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> Reply:
        line = http.client.HTTPConnection(
            "127.0.0.1", self.port, timeout=60, source_address=(self.address, 0)
        )
        try:
            line.request(method, path, body, {"content-type": "application/msgpack", **headers})
            answer = line.getresponse()
            return Reply(answer.status, answer.read())
        finally:
            line.close()

    def _heard(self, orders: Orders) -> Orders:
        self.epoch = orders.epoch
        return orders
