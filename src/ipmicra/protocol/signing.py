"""A request -> a signed request; a signed request -> its sender.

Signed are the method, the path with its query, the digest of the body, the host's name, the channel, the
time and a sequence number that rises within the channel. A host uses few channels and sends the requests
of a channel one by one, so a replayed or reordered request has a sequence number that was used already. The
digest of the body is a header, too, so that the signature can be checked before the body is read.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

HOST, CHANNEL, TIME, SEQUENCE, SIGNATURE, DIGEST = (
    f"x-ipmicra-{name}" for name in ("host", "channel", "time", "sequence", "signature", "digest")
)
CLOCK_SKEW_MS_MAX = 300_000  # a host whose clock differs more is sent the time and tries again


class RequestSignature(NamedTuple):
    """The signature that a request carries, not yet checked."""

    host: str
    channel: str
    time_ms: int
    sequence: int
    signature: bytes
    digest: str = ""  # of the body, in hexadecimal; "" from hosts of 0.1: known after the body only


def signed_headers(
    key: Ed25519PrivateKey, method: str, path: str, body: bytes, request: RequestSignature
) -> dict[str, str]:
    """The headers that make a request the host's. The claim's own signature is not looked at."""
    digest = hashlib.sha256(body).hexdigest()
    signature = key.sign(_text(method, path, digest, request))
    return {
        HOST: request.host,
        CHANNEL: request.channel,
        TIME: str(request.time_ms),
        SEQUENCE: str(request.sequence),
        SIGNATURE: base64.b64encode(signature).decode(),
        DIGEST: digest,
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
            headers.get(DIGEST, ""),
        )
    except (KeyError, ValueError):
        return None


def is_genuine(
    public_key: bytes, method: str, path: str, digest: str, request: RequestSignature
) -> bool:
    """Whether the owner of the key signed just this request, with a body of that digest."""
    try:
        key = Ed25519PublicKey.from_public_bytes(public_key)
        key.verify(request.signature, _text(method, path, digest, request))
    except (InvalidSignature, ValueError):
        return False
    return True


def _text(method: str, path: str, digest: str, request: RequestSignature) -> bytes:
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
