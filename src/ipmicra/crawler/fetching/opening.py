"""A target and an address -> an open connection that speaks HTTP to it, or the kind of its failure.

Law: the guard judges the very address that the socket then connects to, each time; nothing is resolved
here. Certificates are always verified. HTTP/1.1 is offered; HTTP/2 only where the site insists on it.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import socket
import ssl
from pathlib import Path
from time import monotonic

from ipmicra.addresses import IPAddress
from ipmicra.crawler.fetching.connection import Connection, Wire
from ipmicra.crawler.fetching.exchange import FailureKind
from ipmicra.crawler.fetching.guard import Guard
from ipmicra.crawler.fetching.http1 import Http1Connection
from ipmicra.crawler.fetching.http2 import Http2Connection
from ipmicra.crawler.fetching.settings import FetchingSettings
from ipmicra.crawler.fetching.target import Target
from ipmicra.errors import OperatorFault

_HOST_ERRORS = frozenset(
    {
        *(errno.ENETUNREACH, errno.ENETDOWN, errno.EADDRNOTAVAIL),
        *(errno.EMFILE, errno.ENFILE, errno.ENOBUFS),
    }
)
_NO_COMMON_PROTOCOL = "no application protocol"  # OpenSSL's words for alert 120


class OpeningFailed(Exception):
    """No connection; `kind` says why."""

    def __init__(self, kind: FailureKind, detail: str, http2_wanted: bool = False) -> None:
        super().__init__(detail)
        self.kind = kind
        self.http2_wanted = http2_wanted  # the handshake failed for want of HTTP/2


class Opener:
    """Opens connections for one fetcher."""

    def __init__(self, settings: FetchingSettings, guard: Guard, user_agent: str) -> None:
        self._settings = settings
        self._guard = guard
        self._user_agent = user_agent
        self._tls = {
            version: _tls_context(settings.authorities_file, version) for version in ("http/1.1", "h2")
        }

    async def open(
        self, target: Target, address: IPAddress, patience_ms: int, http2: bool
    ) -> Connection:
        """Connect, shake hands. Raises OpeningFailed."""
        started_at = monotonic()
        connected = await self._connected(address, target.port, patience_ms)
        connect_ms = (monotonic() - started_at) * 1000
        wire = Wire(target.origin, target.name, address, connected, connect_ms)
        kind = Http2Connection if http2 else Http1Connection
        connection = kind(wire, self._user_agent)
        try:
            await self._attach(connection, target, "h2" if http2 else "http/1.1")
        except BaseException:
            connected.close()
            raise
        return connection

    async def _connected(self, address: IPAddress, port: int, patience_ms: int) -> socket.socket:
        refusal = self._guard.refusal(address)
        if refusal is not None:
            raise OpeningFailed(FailureKind.REFUSED_ADDRESS, refusal)
        plug = None
        try:
            plug = new_socket(address, self._settings.source_address)
            async with asyncio.timeout(patience_ms / 1000):
                await asyncio.get_running_loop().sock_connect(plug, (str(address), port))
        except BaseException as error:
            if plug is not None:
                plug.close()
            raise _connect_failure(error, address, port, patience_ms) from error
        return plug

    async def _attach(self, connection: Connection, target: Target, version: str) -> None:
        loop = asyncio.get_running_loop()
        if not target.secure:
            await loop.create_connection(lambda: connection, sock=connection.wire.socket)
            return
        started_at = monotonic()
        try:
            transport, _ = await loop.create_connection(
                lambda: connection,
                sock=connection.wire.socket,
                ssl=self._tls[version],
                server_hostname=target.name.strip("[]"),
                ssl_handshake_timeout=self._settings.connect_ms_max / 1000,
            )
        except (TimeoutError, OSError, ValueError) as error:
            raise _tls_failure(error, target) from error
        connection.tls_ms = (monotonic() - started_at) * 1000
        chosen = transport.get_extra_info("ssl_object").selected_alpn_protocol()
        if version == "h2" and chosen != "h2":
            connection.close()
            raise OpeningFailed(FailureKind.TLS, f"{target.name} does not offer HTTP/2")


def new_socket(address: IPAddress, source_address: str = "") -> socket.socket:
    """A socket for connecting to the address, from the given one where that is of the same family."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    plug = socket.socket(family, socket.SOCK_STREAM)
    plug.setblocking(False)
    plug.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if source_address and ipaddress.ip_address(source_address).version == address.version:
        try:
            plug.bind((source_address, 0))
        except OSError:
            plug.close()
            raise
    return plug


def _connect_failure(error: BaseException, address: IPAddress, port: int, ms: int) -> BaseException:
    if isinstance(error, TimeoutError) and error.errno is None:
        detail = f"no connection to {address} port {port} within {ms} ms"
        return OpeningFailed(FailureKind.CONNECT_TIMEOUT, detail)
    if not isinstance(error, OSError):
        return error
    kind = FailureKind.NO_NETWORK if error.errno in _HOST_ERRORS else FailureKind.CONNECT
    if error.errno == errno.ETIMEDOUT:
        kind = FailureKind.CONNECT_TIMEOUT
    return OpeningFailed(kind, f"cannot connect to {address} port {port}: {error.strerror or error}")


def _tls_failure(error: Exception, target: Target) -> OpeningFailed:
    reason = getattr(error, "reason", None) or ""
    why = getattr(error, "verify_message", None) or reason or str(error) or type(error).__name__
    detail = f"no TLS with {target.name}: {why}"
    return OpeningFailed(FailureKind.TLS, detail, http2_wanted=_NO_COMMON_PROTOCOL in str(error))


def _tls_context(authorities_file: str, version: str) -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.set_alpn_protocols([version])
    if authorities_file:
        path = Path(authorities_file).expanduser()
        try:
            context.load_verify_locations(cafile=path)
        except (OSError, ssl.SSLError) as error:
            raise OperatorFault(f"fetching.authorities_file: cannot use {path}: {error}") from error
    return context
