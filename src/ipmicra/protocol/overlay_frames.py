"""Messages and a shared secret -> frames that only holders of the secret can write, and back.

    length (4 bytes) | HMAC-SHA-256 of the rest (32 bytes) | msgpack: to, sent_s, number, message

Invariant: a frame is valid for one receiver, for a short time and once, so that a captured frame can neither
be sent to another peer, nor kept for later, nor replayed. An invalid frame is a PeerFault that says why; it
never reaches the peer.
"""

from __future__ import annotations

import hashlib
import hmac
import itertools
import secrets
import struct
from typing import NamedTuple

import msgspec

from ipmicra.errors import PeerFault
from ipmicra.protocol.foreign_bytes import UNREADABLE
from ipmicra.protocol.overlay_rpc import Hello, WireMessage

FRAME_BYTES_MAX = 16 << 20
STRANGER_BYTES_MAX = 64 << 10  # for the first frame of a connection; `Hello` comes before a larger one
MAC_BYTES = 32
CLOCK_SKEW_S = 60.0  # between two hosts; a frame is remembered for longer than it can be valid
_LENGTH = struct.Struct(">I")


class _Content(msgspec.Struct, frozen=True, array_like=True):
    to: str
    sent_s: float
    number: int
    message: msgspec.Raw


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Content).decode
_decode_message = msgspec.msgpack.Decoder[WireMessage](WireMessage).decode


class DecodedFrame(NamedTuple):
    """A frame's message; `mark` identifies the frame, so that a reply is valid for this request alone."""

    message: WireMessage
    mark: str


class FrameCodec:
    """Writes and reads the frames of one network, for one peer or one client."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._numbers = itertools.count(secrets.randbits(48))
        self._encoded: tuple[WireMessage | None, msgspec.Raw] = (None, msgspec.Raw())
        self._seen: dict[bytes, float] = {}  # frames decoded lately, oldest first

    def encode(self, message: WireMessage, to: str, now_s: float) -> bytes:
        """A frame; a message to many neighbours is encoded once."""
        if self._encoded[0] is not message:
            self._encoded = (message, msgspec.Raw(_encode(message)))
        content = _encode(_Content(to, now_s, next(self._numbers), self._encoded[1]))
        return _LENGTH.pack(MAC_BYTES + len(content)) + self._mac(content) + content

    def first(self, frame: bytes, to: str, now_s: float) -> bytes:
        """What to write on a new connection: the frame, after a small one if it is too large to be first."""
        if len(frame) - _LENGTH.size <= STRANGER_BYTES_MAX:
            return frame
        return self.encode(Hello(), to, now_s) + frame

    def decode(self, frame: bytes, me: str, now_s: float) -> DecodedFrame:
        """The message of a frame without its length prefix."""
        mac, content = self._verified(frame)
        if content.to != me:
            raise PeerFault(f"a frame for {content.to} arrived at {me}")
        if abs(now_s - content.sent_s) > CLOCK_SKEW_S:
            raise PeerFault(
                f"a frame is {now_s - content.sent_s:.0f} s old: check the clocks, or it was replayed"
            )
        self._remember(mac, now_s)
        try:
            return DecodedFrame(_decode_message(content.message), mac.hex())
        except UNREADABLE as error:
            raise PeerFault(f"a frame does not contain an overlay message: {error}") from None

    def receiver(self, frame: bytes) -> str:
        """The address that a frame without its length prefix is for."""
        return self._verified(frame)[1].to

    def _verified(self, frame: bytes) -> tuple[bytes, _Content]:
        mac, content = frame[:MAC_BYTES], frame[MAC_BYTES:]
        if not hmac.compare_digest(mac, self._mac(content)):
            raise PeerFault("a frame was not written with this network's secret")
        try:
            return mac, _decode(content)
        except UNREADABLE as error:
            raise PeerFault(f"a frame does not contain an overlay message: {error}") from None

    def _remember(self, mac: bytes, now_s: float) -> None:
        if mac in self._seen:
            raise PeerFault("a frame arrived a second time: it was replayed")
        self._seen[mac] = now_s
        while now_s - self._seen[oldest := next(iter(self._seen))] > 2 * CLOCK_SKEW_S:
            del self._seen[oldest]

    def _mac(self, content: bytes) -> bytes:
        return hmac.digest(self._secret, content, hashlib.sha256)


def length_of(head: bytes, bytes_max: int = FRAME_BYTES_MAX) -> int:
    """The number of bytes that follow a frame's first four; checked before any of them is read."""
    length: int = _LENGTH.unpack(head)[0]
    if not MAC_BYTES <= length <= bytes_max:
        raise PeerFault(f"a frame of {length} bytes; the limit is {bytes_max}")
    return length
