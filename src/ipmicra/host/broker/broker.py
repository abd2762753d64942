"""Requests of a crawler in a sandbox -> names resolved and sockets connected, within the owner's rules.

Invariant: nothing that arrives is trusted. Every request is checked, and an address is in the store
before the first packet goes to it. The number of connections is limited in all, per address and per
second. While the host is paused, none is made and none stays open.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable

import msgspec

from ipmicra.addresses import IPAddress
from ipmicra.crawler.fetching.settings import FetchingSettings
from ipmicra.host.broker.connections import ConnectionTable, OpenConnection
from ipmicra.host.broker.policy import ConnectPolicy, ConnectRefusal
from ipmicra.host.limits.token_bucket import TokenBucket
from ipmicra.host.limits.usage import UsageMeter
from ipmicra.host.sandbox.monitor.throttled_log import ThrottledLog
from ipmicra.host.settings import HostSettings
from ipmicra.model.failures import FailureKind
from ipmicra.net import kernel_round_trip
from ipmicra.net.address_guard import AddressGuard
from ipmicra.net.dns_resolver import NamesUnreachable, NoSuchName, Resolver
from ipmicra.net.target import literal_address
from ipmicra.net.tcp_connector import ConnectFailed, DirectConnector
from ipmicra.probing.passive import PassiveRoundTrips
from ipmicra.protocol.broker_messages import (
    PACKET_BYTES_MAX,
    BrokerReply,
    BrokerRequest,
    Connect,
    Resolve,
    decode_request,
    encode_reply,
)

REQUESTS_AT_ONCE = 512  # being answered; honest crawlers have fewer
PACKETS_AT_ONCE = 64  # read before others have their turn
OPENINGS_PER_SECOND_MAX = 250
CONNECTIONS_PER_ADDRESS_MAX = 16
PATIENCE_MS_MAX = 60_000
NAME_CHARACTERS_MAX = 253
FULL_RECHECK_SECONDS = 0.01
PAUSED_PATIENCE_SECONDS, PAUSED_RECHECK_SECONDS = 3.0, 0.1
_RECEIVE_BYTES_LEAST = 16 << 10


class Broker:
    """One crawler's broker. `open` it within a running loop; `close` it."""

    def __init__(
        self,
        channel: socket.socket,
        host: HostSettings,
        fetching: FetchingSettings,
        meter: UsageMeter,
        resolver: Resolver,
        blocked_reason: Callable[[], str | None],
        log: ThrottledLog,
        passive: PassiveRoundTrips | None,
    ) -> None:
        self._channel, self._host, self._meter, self._passive = channel, host, meter, passive
        self._resolver, self._log = resolver, log
        self.policy = ConnectPolicy(fetching, blocked_reason)
        opened = AddressGuard(open_ranges=("0.0.0.0/0", "::/0"))  # the policy has decided already
        self._connector = DirectConnector(opened, fetching.source_address)
        self.connections = ConnectionTable(self._on_bytes)
        self._openings = TokenBucket(OPENINGS_PER_SECOND_MAX)
        self._answering: set[asyncio.Task[None]] = set()
        self._connecting = 0

    def open(self) -> None:
        asyncio.get_running_loop().add_reader(self._channel, self._read)

    def close_connections(self) -> int:
        """Close all connections and cancel those in progress. Returns the number that were open."""
        for task in self._answering:
            task.cancel()
        return self.connections.close_connections()

    async def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._channel)
        self.close_connections()
        await asyncio.gather(*self._answering, return_exceptions=True)
        self.connections.close()
        await self._resolver.close()

    # --- questions ----------------------------------------------------------------------------------

    def _read(self) -> None:
        for _ in range(PACKETS_AT_ONCE):
            try:
                packet = self._channel.recv(PACKET_BYTES_MAX)
            except BlockingIOError:
                return
            except OSError:
                packet = b""
            if not packet:  # the other end is closed
                asyncio.get_running_loop().remove_reader(self._channel)
                return
            self._on_packet(packet)

    def _on_packet(self, packet: bytes) -> None:
        try:
            request = decode_request(packet)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            self._log.add("the crawler's code sent the broker a message that is not a request")
            return
        if len(self._answering) >= REQUESTS_AT_ONCE:
            self._log.add(
                f"the crawler's code sent the broker more than {REQUESTS_AT_ONCE} requests at once"
            )
            self._send(BrokerReply(request.number, FailureKind.NO_NETWORK.value, "too many requests"))
            return
        task = asyncio.create_task(self._answer(request))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _answer(self, request: BrokerRequest) -> None:
        try:
            if isinstance(request, Resolve):
                self._send(await self._resolve(request))
            else:
                await self._connect(request)
        except asyncio.CancelledError:
            self._send(BrokerReply(request.number, FailureKind.NO_NETWORK.value, "this host rests"))
            raise

    def _send(self, answer: BrokerReply, sock: socket.socket | None = None) -> bool:
        """Whether the reply was sent. Code that does not read replies loses them."""
        fds = [] if sock is None else [sock.fileno()]
        try:
            socket.send_fds(self._channel, [encode_reply(answer)], fds)
        except OSError as error:
            self._log.add(f"the crawler's code does not read the broker's replies: {error.strerror}")
            return False
        return True

    # --- names --------------------------------------------------------------------------------------

    async def _resolve(self, request: Resolve) -> BrokerReply:
        refusal = await self._wait_while_paused()
        if refusal is not None:
            return BrokerReply(request.number, FailureKind.DNS_FAILED.value, refusal.why)
        if len(request.name) > NAME_CHARACTERS_MAX or not request.name.isascii():
            return BrokerReply(request.number, FailureKind.DNS_NO_NAME.value, "that is not a name")
        try:
            resolved = await self._resolver.resolve(request.name)
        except NoSuchName as error:
            return BrokerReply(request.number, FailureKind.DNS_NO_NAME.value, str(error))
        except NamesUnreachable as error:
            return BrokerReply(request.number, FailureKind.DNS_FAILED.value, str(error))
        self.policy.record_resolution(request.name, resolved.addresses)
        return BrokerReply(
            request.number,
            addresses=tuple(map(str, resolved.addresses)),
            ttl_seconds=resolved.ttl_seconds,
        )

    # --- connections --------------------------------------------------------------------------------

    async def _connect(self, request: Connect) -> None:
        await self._wait_while_paused()
        await self._wait_for_capacity(min(max(request.patience_ms, 1), PATIENCE_MS_MAX) / 1000)
        address = self.policy.decide(request)
        if (
            not isinstance(address, ConnectRefusal)
            and (why := self._capacity_reason(address)) is not None
        ):
            address = ConnectRefusal(FailureKind.NO_NETWORK, why, False)
        if isinstance(address, ConnectRefusal):
            self._refuse(request, address)
            return
        site = site_label(request.name, request.port)
        self._meter.record_contact(str(address), site, "fetch")
        self._connecting += 1
        try:
            patience_ms = min(max(request.patience_ms, 1), PATIENCE_MS_MAX)
            sock = await self._connector.connect(request.name, address, request.port, patience_ms)
        except ConnectFailed as failure:
            self._send(BrokerReply(request.number, failure.kind.value, str(failure)))
            return
        finally:
            self._connecting -= 1
        self._pass_socket(request, OpenConnection(sock, site, address))

    def _pass_socket(self, request: Connect, connection: OpenConnection) -> None:
        rate = self._host.download_bytes_per_second_max
        if rate:  # limits what arrives while the crawler has to wait
            connection.sock.setsockopt(
                socket.SOL_SOCKET, socket.SO_RCVBUF, max(_RECEIVE_BYTES_LEAST, rate // 4)
            )
        if not self._send(BrokerReply(request.number), connection.sock):
            connection.sock.close()
            return
        self.connections.add(connection)
        self._meter.record_bytes(str(connection.address), connection.site, "fetch", 0, 0)

    async def _wait_while_paused(self) -> ConnectRefusal | None:
        """The reason why nothing is done now, or None. Waits a short time first, in which honest code
        stops by itself.
        """
        until = time.monotonic() + PAUSED_PATIENCE_SECONDS
        while (refusal := self.policy.paused()) is not None and time.monotonic() < until:
            await asyncio.sleep(PAUSED_RECHECK_SECONDS)
        return refusal

    async def _wait_for_capacity(self, patience_seconds: float) -> None:
        """Wait until another connection may be opened, or until the time is up."""
        self._openings.consume(1, time.monotonic())
        until = time.monotonic() + patience_seconds
        await asyncio.sleep(self._openings.seconds_to_wait(time.monotonic()))
        while self._capacity_reason(None) and time.monotonic() < until:
            await asyncio.sleep(FULL_RECHECK_SECONDS)

    def _capacity_reason(self, address: IPAddress | None) -> str | None:
        most = self._host.connections_max
        if len(self.connections) + self._connecting >= most:
            return f"all {most} connections are in use"
        if address is not None and self.connections.open_to(address) >= CONNECTIONS_PER_ADDRESS_MAX:
            return f"{CONNECTIONS_PER_ADDRESS_MAX} connections to {address} are open"
        return None

    def _refuse(self, request: Connect, refusal: ConnectRefusal) -> None:
        if refusal.is_notable:
            self._log.add(
                f"the crawler's code asked for a connection to {request.name} ({request.address}) "
                f"port {request.port}: refused: {refusal.why}"
            )
        self._send(BrokerReply(request.number, refusal.kind.value, refusal.why))

    def _on_bytes(self, connection: OpenConnection, bytes_in: int, bytes_out: int) -> None:
        address = str(connection.address)
        self._meter.record_bytes(address, connection.site, "fetch", bytes_in, bytes_out, contacts=0)
        round_trip_ms = kernel_round_trip.round_trip_ms(connection.sock)
        if self._passive is not None and round_trip_ms is not None:
            self._passive.record(connection.address, round_trip_ms)


def site_label(name: str, port: int) -> str:
    """The site as written in the store: name and port alone do not identify it."""
    name = name if literal_address(name) is None or ":" not in name else f"[{name.strip('[]')}]"
    if port in (80, 443):
        return f"{'https' if port == 443 else 'http'}://{name}"
    return f"http://{name}:{port}"
