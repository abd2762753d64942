"""Inside the sandbox: questions to the broker -> addresses and connected sockets, for a fetcher.

Law: it has no network to fall back on. When the broker is gone, every question fails.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from contextlib import suppress

from ipmicra.addresses import IPAddress
from ipmicra.model.failures import FailureKind, failure_of
from ipmicra.net.dns_resolver import DnsAnswer, NamesUnreachable, NoSuchName
from ipmicra.net.tcp_connector import ConnectFailed
from ipmicra.protocol.broker_messages import (
    PACKET_BYTES_MAX,
    BrokerReply,
    BrokerRequest,
    Connect,
    Resolve,
    decode_answer,
    encode_ask,
)

_Answered = tuple[BrokerReply, socket.socket | None]


class BrokerClient:
    """One crawler's line to the broker: its resolver and its connector. Used inside a running loop."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel, self._last = channel, 0
        self._waiting: dict[int, asyncio.Future[_Answered]] = {}
        channel.setblocking(False)
        asyncio.get_running_loop().add_reader(channel, self._read)

    async def resolve(self, name: str) -> DnsAnswer:
        answer, _ = await self._ask(Resolve(self._next(), name))
        if answer.failure == FailureKind.DNS_NO_NAME.value:
            raise NoSuchName(answer.detail)
        if answer.failure:
            raise NamesUnreachable(answer.detail)
        return DnsAnswer(tuple(map(ipaddress.ip_address, answer.addresses)), answer.ttl_seconds)

    async def connect(self, name: str, address: IPAddress, port: int, patience_ms: int) -> socket.socket:
        ask = Connect(self._next(), name, str(address), port, patience_ms)
        answer, plug = await self._ask(ask)
        if plug is None:
            kind = failure_of(answer.failure or FailureKind.NO_NETWORK)
            raise ConnectFailed(kind, answer.detail or "the broker sent no socket")
        plug.setblocking(False)
        return plug

    async def close(self) -> None:
        """As a resolver is closed; the line stays, for whoever fetches next."""

    def hang_up(self) -> None:
        """No more questions; those that wait are answered that nobody could tell."""
        asyncio.get_running_loop().remove_reader(self._channel)
        for number in list(self._waiting):
            self._settle(BrokerReply(number, FailureKind.CLOSED.value, "the broker is gone"), None)

    def _next(self) -> int:
        self._last += 1
        return self._last

    async def _ask(self, ask: BrokerRequest) -> _Answered:
        waiting: asyncio.Future[_Answered] = asyncio.get_running_loop().create_future()
        self._waiting[ask.number] = waiting
        try:
            await self._send(encode_ask(ask))
            return await waiting
        finally:
            self._waiting.pop(ask.number, None)

    async def _send(self, packet: bytes) -> None:
        """Waits while the broker is behind. A line that is cut shows in reading."""
        while True:
            try:
                self._channel.send(packet)
                return
            except BlockingIOError:
                await asyncio.sleep(0.005)
            except OSError as error:
                raise ConnectFailed(FailureKind.CLOSED, f"the broker is gone: {error}") from error

    def _read(self) -> None:
        while True:
            try:
                packet, fds, _, _ = socket.recv_fds(self._channel, PACKET_BYTES_MAX, 1)
            except BlockingIOError:
                return
            except OSError:
                packet, fds = b"", []
            if not packet:
                self.hang_up()
                return
            self._settle(decode_answer(packet), socket.socket(fileno=fds[0]) if fds else None)

    def _settle(self, answer: BrokerReply, plug: socket.socket | None) -> None:
        waiting = self._waiting.pop(answer.number, None)
        if waiting is not None and not waiting.done():
            waiting.set_result((answer, plug))
        elif plug is not None:
            _hang_up(plug)  # whoever asked has gone


def _hang_up(plug: socket.socket) -> None:
    """For the dock too, which has a handle on the same connection."""
    with suppress(OSError):
        plug.shutdown(socket.SHUT_RDWR)
    plug.close()
