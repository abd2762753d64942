"""Inside the sandbox: requests to the broker -> addresses and connected sockets, for a fetcher.

Invariant: there is no other network. When the broker is gone, every request fails.
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
    decode_reply,
    encode_request,
)

_Answered = tuple[BrokerReply, socket.socket | None]


class BrokerClient:
    """One crawler's connection to the broker: its resolver and its connector. Used inside a running
    loop.
    """

    def __init__(self, channel: socket.socket) -> None:
        self._channel, self._last = channel, 0
        self._waiting: dict[int, asyncio.Future[_Answered]] = {}
        channel.setblocking(False)
        asyncio.get_running_loop().add_reader(channel, self._read)

    async def resolve(self, name: str) -> DnsAnswer:
        reply, _ = await self._request(Resolve(self._next(), name))
        if reply.failure == FailureKind.DNS_NO_NAME.value:
            raise NoSuchName(reply.detail)
        if reply.failure:
            raise NamesUnreachable(reply.detail)
        return DnsAnswer(tuple(map(ipaddress.ip_address, reply.addresses)), reply.ttl_seconds)

    async def connect(self, name: str, address: IPAddress, port: int, patience_ms: int) -> socket.socket:
        request = Connect(self._next(), name, str(address), port, patience_ms)
        reply, sock = await self._request(request)
        if sock is None:
            kind = failure_of(reply.failure or FailureKind.NO_NETWORK)
            raise ConnectFailed(kind, reply.detail or "the broker sent no socket")
        sock.setblocking(False)
        return sock

    async def close(self) -> None:
        """Closes the resolver only; the connection stays open for the next fetcher."""

    def disconnect(self) -> None:
        """Send no more requests; waiting ones fail."""
        asyncio.get_running_loop().remove_reader(self._channel)
        for number in list(self._waiting):
            self._settle(BrokerReply(number, FailureKind.CLOSED.value, "the broker is gone"), None)

    def _next(self) -> int:
        self._last += 1
        return self._last

    async def _request(self, request: BrokerRequest) -> _Answered:
        waiting: asyncio.Future[_Answered] = asyncio.get_running_loop().create_future()
        self._waiting[request.number] = waiting
        try:
            await self._send(encode_request(request))
            return await waiting
        finally:
            self._waiting.pop(request.number, None)

    async def _send(self, packet: bytes) -> None:
        """Wait while the broker is behind. A broken connection is noticed when reading."""
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
                self.disconnect()
                return
            self._settle(decode_reply(packet), socket.socket(fileno=fds[0]) if fds else None)

    def _settle(self, reply: BrokerReply, sock: socket.socket | None) -> None:
        waiting = self._waiting.pop(reply.number, None)
        if waiting is not None and not waiting.done():
            waiting.set_result((reply, sock))
        elif sock is not None:
            _disconnect(sock)  # the caller has gone


def _disconnect(sock: socket.socket) -> None:
    """Close it for the host too, which has a handle on the same connection."""
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
    sock.close()
