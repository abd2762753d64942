"""Requests of the host to a crawler in a sandbox, and its answers: frames of MessagePack on a local
stream.

A frame is four bytes of length and a message. Every request is answered, in any order, by its number;
status updates come without a request. Invariant: fields may be added, none changes its meaning, so that a
host and code of other versions understand each other. A frame that is too long closes the stream.
"""

from __future__ import annotations

import asyncio
import struct
from typing import NamedTuple, TypeAlias

import msgspec

from ipmicra.model.ids import SiteEpoch
from ipmicra.protocol.host_messages import PROTOCOL_WITHOUT_NONE, Passive

FRAME_BYTES_MAX = 256 << 20  # a site's state is the largest thing that the host says
MESSAGE_BYTES_MAX = 4 << 20
_LENGTH = struct.Struct("<I")


class AddSite(msgspec.Struct, frozen=True, tag="hold"):
    """Links to the site are followed from now on."""

    site: str
    address: str


class EnqueueUrls(msgspec.Struct, frozen=True, tag="give"):
    urls: tuple[str, ...]


class ResendPages(msgspec.Struct, frozen=True, tag="send-whole"):
    """Visit these pages again, and send them in full. Only sent to guests whose updates state protocol 2."""

    urls: tuple[str, ...]


class ImportSite(msgspec.Struct, frozen=True, tag="take-over"):
    """Answered by the site's name."""

    state: bytes


class ExportSite(msgspec.Struct, frozen=True, tag="release"):
    """Answered by the name of the state's file; empty: there is none."""

    site: str
    epoch: SiteEpoch


class ForgetSite(msgspec.Struct, frozen=True, tag="forget"):
    site: str


class Work(msgspec.Struct, frozen=True, tag="work"):
    """Begin to work, by these settings (JSON, as `guest_config` writes them)."""

    settings: bytes


class Drain(msgspec.Struct, frozen=True, tag="drain"):
    pass


class Stop(msgspec.Struct, frozen=True, tag="stop"):
    """Answered when all is committed."""

    grace_seconds: float


class SealPackages(msgspec.Struct, frozen=True, tag="seal"):
    """Answered by "sealed", or nothing where there was nothing to seal."""


class ObservePage(msgspec.Struct, frozen=True, tag="look"):
    """Answered by a Look, as JSON."""

    url: str


class NextPackage(msgspec.Struct, frozen=True, tag="next-package"):
    pass


GuestCommand: TypeAlias = (
    AddSite
    | EnqueueUrls
    | ResendPages
    | ImportSite
    | ExportSite
    | ForgetSite
    | Work
    | Drain
    | Stop
    | SealPackages
    | NextPackage
    | ObservePage
)


class GuestRequest(msgspec.Struct, frozen=True):
    number: int
    order: GuestCommand


class UnknownCommand(NamedTuple):
    """An order of a newer host's."""

    why: str


class ReceivedRequest(NamedTuple):
    """An ask as this version can read it."""

    number: int
    order: GuestCommand | UnknownCommand


class _RawRequest(msgspec.Struct, frozen=True):
    number: int
    order: msgspec.Raw


class GuestReply(msgspec.Struct, frozen=True, tag="done"):
    """An ask's answer; `fault` says why it could not be done."""

    number: int
    answer: str = ""
    fault: str = ""


class StatusUpdate(msgspec.Struct, frozen=True, tag="news"):
    """Progress of the guest, sent about twice per second."""

    working: bool = False
    ended: str = ""  # the defect that has ended the work
    pages: int = 0
    pending: int = 0
    measured: tuple[Passive, ...] = ()
    protocol: int = PROTOCOL_WITHOUT_NONE  # the protocol that the guest uses


GuestMessage: TypeAlias = GuestReply | StatusUpdate

encode = msgspec.msgpack.Encoder().encode
_decode_request = msgspec.msgpack.Decoder(_RawRequest).decode
_decode_command = msgspec.msgpack.Decoder(GuestCommand).decode
decode_message = msgspec.msgpack.Decoder(GuestMessage).decode


def read_request(frame: bytes) -> ReceivedRequest:
    """Raises msgspec.MsgspecError if it is not a request; an order of another version is `Unknown`."""
    ask = _decode_request(frame)
    try:
        return ReceivedRequest(ask.number, _decode_command(ask.order))
    except msgspec.ValidationError as error:
        return ReceivedRequest(ask.number, UnknownCommand(str(error)))


def encode_frame(message: GuestRequest | GuestMessage) -> bytes:
    data = encode(message)
    return _LENGTH.pack(len(data)) + data


async def next_frame(reader: asyncio.StreamReader, bytes_max: int = FRAME_BYTES_MAX) -> bytes | None:
    """None when the other side has ended. Raises ValueError where it says too much at once."""
    try:
        (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
        if length > bytes_max:
            raise ValueError(f"a frame of {length} bytes")
        return await reader.readexactly(length)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
