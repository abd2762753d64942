"""A target and an address -> an open HTTP connection to it, or the kind of its failure.

Invariant: no name is resolved here, and the connector opens the socket. Certificates are always verified.
HTTP/1.1 is offered; HTTP/2 only where the site supports nothing else.
"""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from time import monotonic

from ipmicra.addresses import IPAddress
from ipmicra.crawler.fetching.http1 import Http1Connection
from ipmicra.crawler.fetching.http_connection import HttpConnection, Wire
from ipmicra.crawler.fetching.settings import FetchingSettings
from ipmicra.errors import OperatorFault
from ipmicra.model.failures import FailureKind
from ipmicra.net.target import HttpTarget
from ipmicra.net.tcp_connector import ConnectFailed, Connector

_NO_COMMON_PROTOCOL = "no application protocol"  # OpenSSL's words for alert 120


class HttpConnector:
    """Opens connections for one fetcher."""

    def __init__(self, settings: FetchingSettings, connector: Connector, user_agent: str) -> None:
        self._settings = settings
        self._connector = connector
        self._user_agent = user_agent
        self._tls = {"http/1.1": _tls_context(settings.authorities_file, "http/1.1")}

    async def open(
        self, target: HttpTarget, address: IPAddress, patience_ms: int, http2: bool
    ) -> HttpConnection:
        """Connect, shake hands. Raises OpeningFailed."""
        started_at = monotonic()
        connected = await self._connector.connect(target.name, address, target.port, patience_ms)
        connect_ms = (monotonic() - started_at) * 1000
        wire = Wire(target.origin, target.name, address, connected, connect_ms)
        connection = _protocol_class(http2)(wire, self._user_agent)
        try:
            await self._attach(connection, target, "h2" if http2 else "http/1.1")
        except BaseException:
            connected.close()
            raise
        return connection

    async def _attach(self, connection: HttpConnection, target: HttpTarget, version: str) -> None:
        loop = asyncio.get_running_loop()
        if not target.secure:
            await loop.create_connection(lambda: connection, sock=connection.wire.socket)
            return
        started_at = monotonic()
        try:
            transport, _ = await loop.create_connection(
                lambda: connection,
                sock=connection.wire.socket,
                ssl=self._tls_for(version),
                server_hostname=target.name.strip("[]"),
                ssl_handshake_timeout=self._settings.connect_ms_max / 1000,
            )
        except (TimeoutError, OSError, ValueError) as error:
            raise _tls_failure(error, target) from error
        connection.tls_ms = (monotonic() - started_at) * 1000
        chosen = transport.get_extra_info("ssl_object").selected_alpn_protocol()
        if version == "h2" and chosen != "h2":
            connection.close()
            raise ConnectFailed(FailureKind.TLS, f"{target.name} does not offer HTTP/2")

    def _tls_for(self, version: str) -> ssl.SSLContext:
        """HTTP/2's is made when a site insists on that: each holds all authorities, some megabytes."""
        if version not in self._tls:
            self._tls[version] = _tls_context(self._settings.authorities_file, version)
        return self._tls[version]


def _protocol_class(http2: bool) -> type[HttpConnection]:
    """The class for the version; that of HTTP/2 is loaded when first needed: few sites require it."""
    if not http2:
        return Http1Connection
    from ipmicra.crawler.fetching.http2 import Http2Connection

    return Http2Connection


def _tls_failure(error: Exception, target: HttpTarget) -> ConnectFailed:
    reason = getattr(error, "reason", None) or ""
    why = getattr(error, "verify_message", None) or reason or str(error) or type(error).__name__
    detail = f"no TLS with {target.name}: {why}"
    return ConnectFailed(FailureKind.TLS, detail, http2_wanted=_NO_COMMON_PROTOCOL in str(error))


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
