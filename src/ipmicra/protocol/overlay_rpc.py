"""What goes over the wire beside the protocol's own messages: questions, each with its answer, and relaying.

Law: plain records. An answer is sealed to the mark of its question's frame, so that it answers no other.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from ipmicra.model.search import Hit, SearchAnswer, SearchRequest
from ipmicra.model.zones import SpacePoint, ZoneBox
from ipmicra.protocol.overlay_messages import (
    LocateReply,
    PeerDescriptor,
    PeerId,
    PeerMessage,
    SiteRecord,
    SubmitAck,
)

RpcKind: TypeAlias = Literal["package", "documents", "state"]


class GetStatus(msgspec.Struct, frozen=True, tag="AskStatus"):
    """To one peer: what do you know?"""


class PeerStatus(msgspec.Struct, frozen=True, tag="Status"):
    """What a peer says of itself to an operator."""

    card: PeerDescriptor
    space: ZoneBox
    neighbours: tuple[PeerDescriptor, ...]
    homed: tuple[str, ...]
    crawled: tuple[str, ...]
    letters_lost: int
    frames_refused: int = 0
    pages: int = 0  # that a search at this peer alone can find
    pending: int = 0  # URLs that it has yet to fetch
    packages_uncopied: int = 0  # that no other peer has yet
    places: tuple[SiteRecord, ...] = ()  # of sites that it is home to, some of them: to be drawn
    resting: str = ""  # why it does not crawl now, by its owner's rules; empty: it works


class SubmitSite(msgspec.Struct, frozen=True, tag="AskToSubmit"):
    """To any peer: take this site in. Answered `Homed` when its home has it."""

    site: str
    record: SiteRecord | None = None  # None: place it by probes


class LocateKey(msgspec.Struct, frozen=True, tag="AskWhoOwns"):
    """To any peer: who owns this place? Answered `Located`, with the hops it took."""

    key: SpacePoint


class TransferChunk(msgspec.Struct, frozen=True, tag="Parcel"):
    """One part of something to be kept: a package, a released site's documents, or its state."""

    kind: RpcKind
    sender: PeerId
    site: str
    epoch: int
    part: int
    parts: int
    data: bytes


class StoreAck(msgspec.Struct, frozen=True, tag="Kept"):
    """The part is here; if it was the last, all is durable here."""


class SearchAll(msgspec.Struct, frozen=True, tag="AskSearch"):
    """To any peer: what does the network know? Answered `Found`."""

    request: SearchRequest


class SearchReply(msgspec.Struct, frozen=True, tag="Found"):
    """The merged answer of all peers that answered in time."""

    answer: SearchAnswer
    peers_asked: int
    peers_silent: int


class SearchLocal(msgspec.Struct, frozen=True, tag="AskSearchHere"):
    """Peer to peer: what do you find? Answered `FoundHere`."""

    request: SearchRequest


class LocalSearchReply(msgspec.Struct, frozen=True, tag="FoundHere"):
    """What one peer finds, which sites it speaks for, and who its neighbours are."""

    card: PeerDescriptor
    hits: tuple[Hit, ...]
    complete: tuple[str, ...]  # names of the sites that it crawls and has been through
    neighbours: tuple[PeerDescriptor, ...]


class RpcError(msgspec.Struct, frozen=True, tag="Sorry"):
    """Instead of an answer: why there is none."""

    why: str


class Attach(msgspec.Struct, frozen=True, tag=True):
    """A peer that cannot be reached to one that can: take what is for me on this connection."""

    name: PeerId


class Attached(msgspec.Struct, frozen=True, tag=True):
    """Others reach you at this address from now on."""

    address: str


class RelayedFrame(msgspec.Struct, frozen=True, tag="Carried"):
    """A frame that somebody sent to the relayed peer, or its answer; `channel` is who."""

    channel: int
    frame: bytes


RpcRequest: TypeAlias = (
    GetStatus | SubmitSite | LocateKey | TransferChunk | SearchAll | SearchLocal | Attach
)
RpcReply: TypeAlias = (
    PeerStatus | SubmitAck | LocateReply | StoreAck | SearchReply | LocalSearchReply | Attached
)
WireMessage: TypeAlias = (
    PeerMessage
    | GetStatus
    | PeerStatus
    | SubmitSite
    | LocateKey
    | TransferChunk
    | StoreAck
    | SearchAll
    | SearchReply
    | SearchLocal
    | LocalSearchReply
    | RpcError
    | Attach
    | Attached
    | RelayedFrame
)
QUESTIONS = (GetStatus, SubmitSite, LocateKey, TransferChunk, SearchAll, SearchLocal, Attach)
ANSWERS = (PeerStatus, StoreAck, SearchReply, LocalSearchReply, RpcError, Attached)
