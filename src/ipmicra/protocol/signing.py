"""A request -> a signed request, and back to who sent it.

Signed are the method, the path with its query, the digest of the body, the host's name, the channel,
the time and a sequence number that rises within the channel. A host talks over few channels, each one
request after the other, so a replayed or reordered request has a sequence that was used up already.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

HOST, CHANNEL, TIME, SEQUENCE, SIGNATURE = (
    f"x-ipmicra-{name}" for name in ("host", "channel", "time", "sequence", "signature")
)
CLOCK_SKEW_MS_MAX = 300_000  # a host whose clock is further off is told the time and tries again


class RequestSignature(NamedTuple):
    """What a request says of itself before anybody has checked it."""

    host: str
    channel: str
    time_ms: int
    sequence: int
    signature: bytes


def signed_headers(
    key: Ed25519PrivateKey, method: str, path: str, body: bytes, request: RequestSignature
) -> dict[str, str]:
    """The headers that make a request the host's. The claim's own signature is not looked at."""
    signature = key.sign(_text(method, path, body, request))
    return {
        HOST: request.host,
        CHANNEL: request.channel,
        TIME: str(request.time_ms),
        SEQUENCE: str(request.sequence),
        SIGNATURE: base64.b64encode(signature).decode(),
    }


def signature_in(headers: Mapping[str, str]) -> RequestSignature | None:
    """The claim in a request's headers; None when it is missing or makes no sense."""
    try:
        return RequestSignature(
            headers[HOST],
            headers[CHANNEL],
            int(headers[TIME]),
            int(headers[SEQUENCE]),
            base64.b64decode(headers[SIGNATURE], validate=True),
        )
    except (KeyError, ValueError):
        return None


def is_genuine(
    public_key: bytes, method: str, path: str, body: bytes, request: RequestSignature
) -> bool:
    """Whether the owner of the key signed just this request."""
    try:
        key = Ed25519PublicKey.from_public_bytes(public_key)
        key.verify(request.signature, _text(method, path, body, request))
    except (InvalidSignature, ValueError):
        return False
    return True


def _text(method: str, path: str, body: bytes, request: RequestSignature) -> bytes:
    digest = hashlib.sha256(body).hexdigest()
    fields = (
        "ipmicra-1",
        method,
        path,
        digest,
        request.host,
        request.channel,
        request.time_ms,
        request.sequence,
    )
    return "\n".join(map(str, fields)).encode()
