"""Messages on the wire beside the peer protocol: requests, each with its reply, and relaying.

Invariant: plain records. A reply is authenticated with the mark of its request's frame, so that it fits no
other request.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from ipmicra.model.ids import SiteEpoch
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
    """To one peer: report your status."""


class PeerStatus(msgspec.Struct, frozen=True, tag="Status"):
    """A peer's report about itself to an operator."""

    descriptor: PeerDescriptor = msgspec.field(name="card")
    space: ZoneBox
    neighbours: tuple[PeerDescriptor, ...]
    home_sites: tuple[str, ...] = msgspec.field(name="homed")
    crawled: tuple[str, ...]
    routed_lost: int = msgspec.field(name="letters_lost")
    frames_refused: int = 0
    pages: int = 0  # that a search on this peer alone can find
    pending: int = 0  # URLs that it has yet to fetch
    packages_uncopied: int = 0  # that no other peer has stored yet
    places: tuple[SiteRecord, ...] = ()  # some of the sites that it is home to, to be drawn
    pause_reason: str = msgspec.field(
        name="resting", default=""
    )  # by its owner's limits; empty: it crawls


class SubmitSite(msgspec.Struct, frozen=True, tag="AskToSubmit"):
    """To any peer: submit this site. Answered `SubmitAck` when its home has it."""

    site: str
    record: SiteRecord | None = None  # None: place it by probes


class LocateKey(msgspec.Struct, frozen=True, tag="AskWhoOwns"):
    """To any peer: locate the owner of this key. Answered `LocateReply`, with the number of hops."""

    key: SpacePoint


class TransferChunk(msgspec.Struct, frozen=True, tag="Parcel"):
    """One part of something to be stored: a package, a released site's documents, or its state."""

    kind: RpcKind
    sender: PeerId
    site: str
    epoch: SiteEpoch
    part: int
    parts: int
    data: bytes


class StoreAck(msgspec.Struct, frozen=True, tag="Kept"):
    """The part is here; if it was the last, everything is durable here."""


class SearchAll(msgspec.Struct, frozen=True, tag="AskSearch"):
    """To any peer: search the whole network. Answered `SearchReply`."""

    request: SearchRequest


class SearchReply(msgspec.Struct, frozen=True, tag="Found"):
    """The merged answer of all peers that answered in time."""

    answer: SearchAnswer
    peers_asked: int
    peers_silent: int


class SearchLocal(msgspec.Struct, frozen=True, tag="AskSearchHere"):
    """Peer to peer: search your own index. Answered `LocalSearchReply`."""

    request: SearchRequest


class LocalSearchReply(msgspec.Struct, frozen=True, tag="FoundHere"):
    """The hits of one peer, the sites it is authoritative for, and its neighbours."""

    descriptor: PeerDescriptor = msgspec.field(name="card")
    hits: tuple[Hit, ...]
    complete: tuple[str, ...]  # names of the sites that it crawls and has crawled once
    neighbours: tuple[PeerDescriptor, ...]


class RpcError(msgspec.Struct, frozen=True, tag="Sorry"):
    """Instead of a reply: the reason why there is none."""

    why: str


class Hello(msgspec.Struct, frozen=True, tag=True):
    """The first frame of a connection whose next one is large: it shows that the sender is a peer."""


class Attach(msgspec.Struct, frozen=True, tag=True):
    """An unreachable peer to a reachable one: forward frames for me on this connection."""

    name: PeerId


class Attached(msgspec.Struct, frozen=True, tag=True):
    """Other peers reach you at this address from now on."""

    address: str


class RelayedFrame(msgspec.Struct, frozen=True, tag="Carried"):
    """A frame for the relayed peer, or its reply; `channel` identifies the other side."""

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
    | Hello
    | Attach
    | Attached
    | RelayedFrame
)
QUESTIONS = (GetStatus, SubmitSite, LocateKey, TransferChunk, SearchAll, SearchLocal, Attach)
ANSWERS = (PeerStatus, StoreAck, SearchReply, LocalSearchReply, RpcError, Attached)
