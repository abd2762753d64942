"""Messages and a shared secret -> frames that only who knows the secret can write, and back.

    length (4 bytes) | HMAC-SHA-256 of the rest (32 bytes) | msgpack: to, sent_s, message

Law: a frame is for one address and for a short time, so that one taken from the wire can neither be sent
to somebody else nor kept for later. What is wrong with a frame is a HostFault that says so; it never
reaches the peer.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from typing import TypeAlias

import msgspec

from ipmicra.errors import HostFault
from ipmicra.overlay.can.box import Box
from ipmicra.overlay.can.messages import Card, Message

FRAME_BYTES_MAX = 16 << 20
MAC_BYTES = 32
CLOCK_SKEW_S = 60.0  # between two hosts; also how long a frame may be replayed, to which peers are deaf
_LENGTH = struct.Struct(">I")


class AskStatus(msgspec.Struct, frozen=True, tag=True):
    """An operator's question to one peer; answered on the same connection."""


class Status(msgspec.Struct, frozen=True, tag=True):
    """What a peer says of itself to an operator."""

    card: Card
    space: Box
    neighbours: tuple[Card, ...]
    homed: tuple[str, ...]
    crawled: tuple[str, ...]
    letters_lost: int


Spoken: TypeAlias = Message | AskStatus | Status


class _Content(msgspec.Struct, frozen=True, array_like=True):
    to: str
    sent_s: float
    message: Spoken


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Content).decode


class Seal:
    """Writes and reads the frames of one network."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def sealed(self, message: Spoken, to: str, now_s: float) -> bytes:
        content = _encode(_Content(to, now_s, message))
        return _LENGTH.pack(MAC_BYTES + len(content)) + self._mac(content) + content

    def opened(self, frame: bytes, me: str, now_s: float) -> Spoken:
        """The message of a frame without its length."""
        mac, content = frame[:MAC_BYTES], frame[MAC_BYTES:]
        if not hmac.compare_digest(mac, self._mac(content)):
            raise HostFault("a frame was not written with this network's secret")
        try:
            found = _decode(content)
        except msgspec.MsgspecError as error:
            raise HostFault(f"a frame holds no message of the overlay: {error}") from None
        if found.to != me:
            raise HostFault(f"a frame for {found.to} came to {me}")
        if abs(now_s - found.sent_s) > CLOCK_SKEW_S:
            raise HostFault(
                f"a frame is {now_s - found.sent_s:.0f} s old: set the clock, or it was kept"
            )
        return found.message

    def _mac(self, content: bytes) -> bytes:
        return hmac.digest(self._secret, content, hashlib.sha256)


def length_of(head: bytes) -> int:
    """The bytes that follow a frame's first four."""
    length: int = _LENGTH.unpack(head)[0]
    if not MAC_BYTES <= length <= FRAME_BYTES_MAX:
        raise HostFault(f"a frame of {length} bytes: at most {FRAME_BYTES_MAX} are read")
    return length
