"""What peers say to each other: plain records, the same in the simulator and on the wire.

Times are seconds of whatever clock drives the peers; distances are milliseconds.
"""

from __future__ import annotations

from typing import NewType, TypeAlias

import msgspec

from ipmicra.model.zones import Box, Point

PeerId = NewType("PeerId", str)


class Card(msgspec.Struct, frozen=True, array_like=True):
    """What a peer says of itself. `version` rises with every change, so an old card never wins."""

    peer: PeerId
    point: Point
    zones: tuple[Box, ...]
    load: float = 0.0  # pages of the sites it crawls
    capacity: float = 1.0  # relative to other peers
    version: int = 0
    address: str = ""  # how a transport reaches it
    landmarks_ms: tuple[tuple[PeerId, float], ...] = ()  # the round trips that its point was made of


class Measurement(msgspec.Struct, frozen=True, array_like=True):
    """A peer's round trip to a site, with what is needed to write to that peer: infinite for no answer."""

    peer: PeerId
    round_trip_ms: float
    point: Point
    address: str = ""


class SiteRecord(msgspec.Struct, frozen=True, array_like=True):
    """A site as its home knows it: where it lies, who measured it, who crawls it."""

    site: str
    key: Point  # inside the space; decides the home
    point: Point  # as measured; decides nearness
    pages: float = 1.0
    measured: tuple[Measurement, ...] = ()  # the nearest first; survives its home with the record
    delegate: PeerId = PeerId("")
    delegate_address: str = ""  # as on the delegate's card, who may be far from a new home
    epoch: int = 0  # rises whenever the delegate changes; the older epoch stops crawling


class Join(msgspec.Struct, frozen=True, tag=True):
    """Routed to the owner of the newcomer's point. The bootstrap peer has filled in the scheme."""

    newcomer: Card
    scheme: str
    passed_on: bool = False  # by NH or GH, to the peer that is to split: split here


class Submit(msgspec.Struct, frozen=True, tag=True):
    """Routed to the home of the site, which answers `Homed` to the peer that took it in."""

    record: SiteRecord
    taken_in_by: Card | None = None  # None: by the peer that receives this


class Announce(msgspec.Struct, frozen=True, tag=True):
    """Routed to the home of the site: I crawl it. Heals a home that was lost with all its neighbours."""

    record: SiteRecord
    crawler: Card


class Resign(msgspec.Struct, frozen=True, tag=True):
    """Routed to the home of the site: I am about to leave, give it to somebody else."""

    site: str
    crawler: PeerId


class Locate(msgspec.Struct, frozen=True, tag=True):
    """Routed to the owner of the key, who answers `Located` to the asker."""

    asker: Card
    question: str


class Testify(msgspec.Struct, frozen=True, tag=True):
    """Routed to the far end of the space: the sites I am home to, should all who know of them die."""

    records: tuple[SiteRecord, ...]


class Register(msgspec.Struct, frozen=True, tag=True):
    """Routed to the registrar of the site's name, which answers `Registered` to the asker."""

    record: SiteRecord
    asker: Card


Letter: TypeAlias = Join | Submit | Announce | Resign | Locate | Testify | Register


class Routed(msgspec.Struct, frozen=True, tag=True):
    """A letter on its way to the owner of `key`."""

    key: Point
    letter: Letter
    hops: int = 0
    seen: tuple[PeerId, ...] = ()


class Located(msgspec.Struct, frozen=True, tag=True):
    """Who owns the key that was asked for, after how many hops."""

    question: str
    owner: Card
    hops: int


class Welcome(msgspec.Struct, frozen=True, tag=True):
    """The newcomer's zones, its sites, and everybody who may be its neighbour."""

    zones: tuple[Box, ...]
    sites: tuple[SiteRecord, ...]
    acquaintances: tuple[Card, ...]
    splits: int  # how often the zone has been split, for schemes that go through the dimensions in turn


class Update(msgspec.Struct, frozen=True, tag=True):
    """A peer's card, its neighbours' cards, and the sites it is home to (a neighbour keeps the copy)."""

    card: Card
    neighbours: tuple[Card, ...] = ()
    sites: tuple[SiteRecord, ...] | None = None  # None: as before
    busiest: Card | None = None  # the most loaded peer heard of, for GH


class HandOver(msgspec.Struct, frozen=True, tag=True):
    """Zones and sites for the receiver to take, and who may be its neighbours then."""

    leaver: PeerId
    zones: tuple[Box, ...]
    sites: tuple[SiteRecord, ...]
    acquaintances: tuple[Card, ...]


class Remember(msgspec.Struct, frozen=True, tag=True):
    """Records of sites in the receiver's zones that it seems not to know."""

    sites: tuple[SiteRecord, ...]


class Gone(msgspec.Struct, frozen=True, tag=True):
    """The leaver's word to its neighbours: forget me; `heir` has what was mine."""

    leaver: PeerId
    heir: Card


class Crawl(msgspec.Struct, frozen=True, tag=True):
    """Home to delegate: this site is yours from this epoch on."""

    record: SiteRecord
    home: Card


class Registered(msgspec.Struct, frozen=True, tag=True):
    """Registrar to whoever asked: this is where the site lies; perhaps not where you thought."""

    record: SiteRecord


class Homed(msgspec.Struct, frozen=True, tag=True):
    """Home to the peer that took a site in: I have it."""

    site: str


class Confirm(msgspec.Struct, frozen=True, tag=True):
    """Home to delegate: in this epoch the site is still yours; the lease begins anew."""

    site: str
    epoch: int


class Release(msgspec.Struct, frozen=True, tag=True):
    """Home to former delegate: from this epoch on the site is somebody else's, who may ask for its state."""

    site: str
    epoch: int
    heir: Card


class Measure(msgspec.Struct, frozen=True, tag=True):
    """Home to a peer: please time a round trip to this site."""

    site: str
    home: Card


class Measured(msgspec.Struct, frozen=True, tag=True):
    """A peer to the home: what it took; None when the site did not answer it."""

    site: str
    by: Card
    round_trip_ms: float | None
    neighbours: tuple[Card, ...] = ()  # whom to ask next, if this was the nearest so far


class Rival(msgspec.Struct, frozen=True, tag=True):
    """A neighbour of both to one of two peers that claim the same region: here is the other."""

    card: Card


Message: TypeAlias = (
    Routed
    | Located
    | Welcome
    | Update
    | HandOver
    | Remember
    | Gone
    | Registered
    | Homed
    | Crawl
    | Confirm
    | Release
    | Measure
    | Measured
    | Rival
)


class Outgoing(msgspec.Struct, frozen=True):
    """A message to be carried to a peer."""

    to: Card
    message: Message
