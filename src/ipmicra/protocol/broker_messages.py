"""A crawler's requests to the broker, and the answers: packets of MessagePack on a local socket.

Invariant: an answer has the number of its request. A connected socket travels with the answer.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

PACKET_BYTES_MAX = 16 << 10


class Resolve(msgspec.Struct, frozen=True, tag="resolve"):
    """Where is this name?"""

    number: int
    name: str


class Connect(msgspec.Struct, frozen=True, tag="connect"):
    """A connection to this address, which the name was said to be at."""

    number: int
    name: str
    address: str
    port: int
    patience_ms: int


BrokerRequest: TypeAlias = Resolve | Connect


class BrokerReply(msgspec.Struct, frozen=True):
    """`failure` is a word of FailureKind; empty: it went well."""

    number: int
    failure: str = ""
    detail: str = ""
    addresses: tuple[str, ...] = ()
    ttl_seconds: float = 0.0


encode_request = msgspec.msgpack.Encoder().encode
decode_request = msgspec.msgpack.Decoder(BrokerRequest).decode
encode_reply = msgspec.msgpack.Encoder().encode
decode_reply = msgspec.msgpack.Decoder(BrokerReply).decode
