"""A signed request -> the host that sent it, or a refusal."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from litestar import Request, Response
from litestar.datastructures import State
from sqlalchemy import Connection

from ipmicra.coordinator.api.request_body import BodyData
from ipmicra.coordinator.store import hosts
from ipmicra.coordinator.store.hosts import Host, HostRefused
from ipmicra.protocol.foreign_bytes import UNREADABLE
from ipmicra.protocol.host_messages import RefusalMessage
from ipmicra.protocol.signing import RequestSignature, signature_in

MSGPACK = "application/msgpack"
CONFLICTS = frozenset(
    {"epoch", "number", "sequence", "digest"}
)  # kinds that mean: this has been overtaken

HttpRequest = Request[Any, Any, State]
RequestBody = TypeVar("RequestBody")


def authenticate(
    connection: Connection, request: HttpRequest, channel: str, digest: str, now_s: float
) -> Host:
    """Check the signature and use up the sequence number, in the caller's transaction."""
    claim = check_signature(request, channel)
    return hosts.authenticate(connection, claim, request.method, signed_path(request), digest, now_s)


def check_signature(request: HttpRequest, channel: str) -> RequestSignature:
    """Check the signature in the headers before a byte of the body is read. Raises HostRefused."""
    claim = signature_in({name.lower(): value for name, value in request.headers.items()})
    if claim is None:
        raise HostRefused("unsigned", "the request is not signed")
    if claim.channel != channel:
        raise HostRefused("channel", f"this is asked on the channel {channel!r}")
    return claim


def caller(request: HttpRequest) -> str:
    """The address that the request comes from; behind a trusted proxy the one that the proxy names."""
    return request.client.host if request.client is not None else ""


def signed_path(request: HttpRequest) -> str:
    """Path and query as they came over the wire."""
    raw: bytes = request.scope.get("raw_path") or request.scope["path"].encode()
    query: bytes = request.scope.get("query_string", b"")
    path = raw.partition(b"?")[0]
    return (path + b"?" + query if query else path).decode("latin-1")


def read(body: BodyData, kind: type[RequestBody]) -> RequestBody:
    try:
        return msgspec.msgpack.decode(body, type=kind)
    except UNREADABLE as error:
        raise HostRefused("malformed", f"the body is not a valid {kind.__name__}: {error}") from error


def answer(record: msgspec.Struct, status: int = 200) -> Response[bytes]:
    return Response(msgspec.msgpack.encode(record), media_type=MSGPACK, status_code=status)


def refusal(refused: HostRefused, now_s: float) -> Response[bytes]:
    message = RefusalMessage(
        kind=refused.refusal.kind, reason=refused.refusal.reason, server_time_ms=int(now_s * 1000)
    )
    return answer(message, 409 if message.kind in CONFLICTS else 403)
