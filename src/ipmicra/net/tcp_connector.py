"""An address and a port -> a connected socket, or the kind of the failure.

A `Connector` is all that a fetcher needs of the network besides names. `DirectConnector` connects from
this process. Where dispatched code has no network, a broker connects for it and passes the socket in
(`ipmicra.host.broker.client`).

Invariant: the connecting process checks the exact address that the socket then connects to, each time.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import socket
from typing import Protocol

from ipmicra.addresses import IPAddress
from ipmicra.model.failures import FailureKind
from ipmicra.net.address_guard import AddressGuard

_HOST_ERRORS = frozenset(
    {
        *(errno.ENETUNREACH, errno.ENETDOWN, errno.EADDRNOTAVAIL),
        *(errno.EMFILE, errno.ENFILE, errno.ENOBUFS),
    }
)


class ConnectFailed(Exception):
    """No connection; `kind` says why."""

    def __init__(self, kind: FailureKind, detail: str, http2_wanted: bool = False) -> None:
        super().__init__(detail)
        self.kind = kind
        self.http2_wanted = http2_wanted  # the handshake failed because HTTP/2 was not offered


class Connector(Protocol):
    """Connects for a fetcher. Raises ConnectFailed."""

    async def connect(self, name: str, address: IPAddress, port: int, patience_ms: int) -> socket.socket:
        """A non-blocking socket that is connected to the address; `name` is the site's."""
        ...


class DirectConnector:
    """Connects from this process, if the guard allows it."""

    def __init__(self, guard: AddressGuard, source_address: str = "") -> None:
        self._guard, self._source_address = guard, source_address

    async def connect(self, name: str, address: IPAddress, port: int, patience_ms: int) -> socket.socket:
        refusal = self._guard.denial_reason(address)
        if refusal is not None:
            raise ConnectFailed(FailureKind.REFUSED_ADDRESS, refusal)
        sock = None
        try:
            sock = new_socket(address, self._source_address)
            async with asyncio.timeout(patience_ms / 1000):
                await asyncio.get_running_loop().sock_connect(sock, (str(address), port))
        except BaseException as error:
            if sock is not None:
                sock.close()
            raise _connect_failure(error, address, port, patience_ms) from error
        return sock


def new_socket(address: IPAddress, source_address: str = "") -> socket.socket:
    """A socket for connecting to the address, bound to the given source if that is of the same
    family.
    """
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setblocking(False)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if source_address and ipaddress.ip_address(source_address).version == address.version:
        try:
            sock.bind((source_address, 0))
        except OSError:
            sock.close()
            raise
    return sock


def _connect_failure(error: BaseException, address: IPAddress, port: int, ms: int) -> BaseException:
    if isinstance(error, TimeoutError) and error.errno is None:
        detail = f"no connection to {address} port {port} within {ms} ms"
        return ConnectFailed(FailureKind.CONNECT_TIMEOUT, detail)
    if not isinstance(error, OSError):
        return error
    kind = FailureKind.NO_NETWORK if error.errno in _HOST_ERRORS else FailureKind.CONNECT
    if error.errno == errno.ETIMEDOUT:
        kind = FailureKind.CONNECT_TIMEOUT
    return ConnectFailed(kind, f"cannot connect to {address} port {port}: {error.strerror or error}")
