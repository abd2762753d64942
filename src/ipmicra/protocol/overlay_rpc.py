"""What goes over the wire beside the protocol's own messages: questions, each with its answer, and relaying.

Law: plain records. An answer is sealed to the mark of its question's frame, so that it answers no other.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from ipmicra.model.zones import Box, Point
from ipmicra.protocol.overlay_messages import Card, Homed, Located, Message, PeerId, SiteRecord
from ipmicra.search.contract import Answer as SearchAnswer
from ipmicra.search.contract import Hit, Request

Kind: TypeAlias = Literal["package", "documents", "state"]


class AskStatus(msgspec.Struct, frozen=True, tag=True):
    """To one peer: what do you know?"""


class Status(msgspec.Struct, frozen=True, tag=True):
    """What a peer says of itself to an operator."""

    card: Card
    space: Box
    neighbours: tuple[Card, ...]
    homed: tuple[str, ...]
    crawled: tuple[str, ...]
    letters_lost: int
    frames_refused: int = 0
    pages: int = 0  # that a search at this peer alone can find
    pending: int = 0  # URLs that it has yet to fetch
    packages_uncopied: int = 0  # that no other peer has yet
    places: tuple[SiteRecord, ...] = ()  # of sites that it is home to, some of them: to be drawn
    resting: str = ""  # why it does not crawl now, by its owner's rules; empty: it works


class AskToSubmit(msgspec.Struct, frozen=True, tag=True):
    """To any peer: take this site in. Answered `Homed` when its home has it."""

    site: str
    record: SiteRecord | None = None  # None: place it by probes


class AskWhoOwns(msgspec.Struct, frozen=True, tag=True):
    """To any peer: who owns this place? Answered `Located`, with the hops it took."""

    key: Point


class Parcel(msgspec.Struct, frozen=True, tag=True):
    """One part of something to be kept: a package, a released site's documents, or its state."""

    kind: Kind
    sender: PeerId
    site: str
    epoch: int
    part: int
    parts: int
    data: bytes


class Kept(msgspec.Struct, frozen=True, tag=True):
    """The part is here; if it was the last, all is durable here."""


class AskSearch(msgspec.Struct, frozen=True, tag=True):
    """To any peer: what does the network know? Answered `Found`."""

    request: Request


class Found(msgspec.Struct, frozen=True, tag=True):
    """The merged answer of all peers that answered in time."""

    answer: SearchAnswer
    peers_asked: int
    peers_silent: int


class AskSearchHere(msgspec.Struct, frozen=True, tag=True):
    """Peer to peer: what do you find? Answered `FoundHere`."""

    request: Request


class FoundHere(msgspec.Struct, frozen=True, tag=True):
    """What one peer finds, which sites it speaks for, and who its neighbours are."""

    card: Card
    hits: tuple[Hit, ...]
    complete: tuple[str, ...]  # names of the sites that it crawls and has been through
    neighbours: tuple[Card, ...]


class Sorry(msgspec.Struct, frozen=True, tag=True):
    """Instead of an answer: why there is none."""

    why: str


class Attach(msgspec.Struct, frozen=True, tag=True):
    """A peer that cannot be reached to one that can: take what is for me on this connection."""

    name: PeerId


class Attached(msgspec.Struct, frozen=True, tag=True):
    """Others reach you at this address from now on."""

    address: str


class Carried(msgspec.Struct, frozen=True, tag=True):
    """A frame that somebody sent to the relayed peer, or its answer; `channel` is who."""

    channel: int
    frame: bytes


Question: TypeAlias = AskStatus | AskToSubmit | AskWhoOwns | Parcel | AskSearch | AskSearchHere | Attach
Answer: TypeAlias = Status | Homed | Located | Kept | Found | FoundHere | Attached
Spoken: TypeAlias = (
    Message
    | AskStatus
    | Status
    | AskToSubmit
    | AskWhoOwns
    | Parcel
    | Kept
    | AskSearch
    | Found
    | AskSearchHere
    | FoundHere
    | Sorry
    | Attach
    | Attached
    | Carried
)
QUESTIONS = (AskStatus, AskToSubmit, AskWhoOwns, Parcel, AskSearch, AskSearchHere, Attach)
ANSWERS = (Status, Kept, Found, FoundHere, Sorry, Attached)
