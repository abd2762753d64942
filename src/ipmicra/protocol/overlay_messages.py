"""What peers say to each other: plain records, the same in the simulator and on the wire.

Times are seconds of whatever clock drives the peers; distances are milliseconds.
"""

from __future__ import annotations

from typing import NewType, TypeAlias

import msgspec

from ipmicra.model.zones import SpacePoint, ZoneBox

PeerId = NewType("PeerId", str)


class PeerDescriptor(msgspec.Struct, frozen=True, array_like=True):
    """What a peer says of itself. `version` rises with every change, so an old card never wins."""

    peer: PeerId
    point: SpacePoint
    zones: tuple[ZoneBox, ...]
    load: float = 0.0  # pages of the sites it crawls
    capacity: float = 1.0  # relative to other peers
    version: int = 0
    address: str = ""  # how a transport reaches it
    landmarks_ms: tuple[tuple[PeerId, float], ...] = ()  # the round trips that its point was made of


class PeerMeasurement(msgspec.Struct, frozen=True, array_like=True):
    """A peer's round trip to a site, with what is needed to write to that peer: infinite for no answer."""

    peer: PeerId
    round_trip_ms: float
    point: SpacePoint
    address: str = ""


class SiteRecord(msgspec.Struct, frozen=True, array_like=True):
    """A site as its home knows it: where it lies, who measured it, who crawls it."""

    site: str
    key: SpacePoint  # inside the space; decides the home
    point: SpacePoint  # as measured; decides nearness
    pages: float = 1.0
    measured: tuple[PeerMeasurement, ...] = ()  # the nearest first; survives its home with the record
    delegate: PeerId = PeerId("")
    delegate_address: str = ""  # as on the delegate's card, who may be far from a new home
    epoch: int = 0  # rises whenever the delegate changes; the older epoch stops crawling


class Join(msgspec.Struct, frozen=True, tag=True):
    """Routed to the owner of the newcomer's point. The bootstrap peer has filled in the scheme."""

    newcomer: PeerDescriptor
    scheme: str
    passed_on: bool = False  # by NH or GH, to the peer that is to split: split here


class Submit(msgspec.Struct, frozen=True, tag=True):
    """Routed to the home of the site, which answers `Homed` to the peer that took it in."""

    record: SiteRecord
    taken_in_by: PeerDescriptor | None = None  # None: by the peer that receives this


class Announce(msgspec.Struct, frozen=True, tag=True):
    """Routed to the home of the site: I crawl it. Heals a home that was lost with all its neighbours."""

    record: SiteRecord
    crawler: PeerDescriptor


class HandBack(msgspec.Struct, frozen=True, tag="Resign"):
    """Routed to the home of the site: I am about to leave, give it to somebody else."""

    site: str
    crawler: PeerId


class Locate(msgspec.Struct, frozen=True, tag=True):
    """Routed to the owner of the key, who answers `Located` to the asker."""

    asker: PeerDescriptor
    question: str


class ReplicateFar(msgspec.Struct, frozen=True, tag="Testify"):
    """Routed to the far end of the space: the sites I am home to, should all who know of them die."""

    records: tuple[SiteRecord, ...]


class Register(msgspec.Struct, frozen=True, tag=True):
    """Routed to the registrar of the site's name, which answers `Registered` to the asker."""

    record: SiteRecord
    asker: PeerDescriptor


RoutedPayload: TypeAlias = Join | Submit | Announce | HandBack | Locate | ReplicateFar | Register


class Routed(msgspec.Struct, frozen=True, tag=True):
    """A letter on its way to the owner of `key`."""

    key: SpacePoint
    letter: RoutedPayload
    hops: int = 0
    seen: tuple[PeerId, ...] = ()


class LocateReply(msgspec.Struct, frozen=True, tag="Located"):
    """Who owns the key that was asked for, after how many hops."""

    question: str
    owner: PeerDescriptor
    hops: int


class Welcome(msgspec.Struct, frozen=True, tag=True):
    """The newcomer's zones, its sites, and everybody who may be its neighbour."""

    zones: tuple[ZoneBox, ...]
    sites: tuple[SiteRecord, ...]
    acquaintances: tuple[PeerDescriptor, ...]
    splits: int  # how often the zone has been split, for schemes that go through the dimensions in turn


class Update(msgspec.Struct, frozen=True, tag=True):
    """A peer's card, its neighbours' cards, and the sites it is home to (a neighbour keeps the copy)."""

    card: PeerDescriptor
    neighbours: tuple[PeerDescriptor, ...] = ()
    sites: tuple[SiteRecord, ...] | None = None  # None: as before
    busiest: PeerDescriptor | None = None  # the most loaded peer heard of, for GH


class HandOver(msgspec.Struct, frozen=True, tag=True):
    """Zones and sites for the receiver to take, and who may be its neighbours then."""

    leaver: PeerId
    zones: tuple[ZoneBox, ...]
    sites: tuple[SiteRecord, ...]
    acquaintances: tuple[PeerDescriptor, ...]


class StoreRecords(msgspec.Struct, frozen=True, tag="Remember"):
    """Records of sites in the receiver's zones that it seems not to know."""

    sites: tuple[SiteRecord, ...]


class PeerLeft(msgspec.Struct, frozen=True, tag="Gone"):
    """The leaver's word to its neighbours: forget me; `heir` has what was mine."""

    leaver: PeerId
    heir: PeerDescriptor


class CrawlSite(msgspec.Struct, frozen=True, tag="Crawl"):
    """Home to delegate: this site is yours from this epoch on."""

    record: SiteRecord
    home: PeerDescriptor


class Registered(msgspec.Struct, frozen=True, tag=True):
    """Registrar to whoever asked: this is where the site lies; perhaps not where you thought."""

    record: SiteRecord


class SubmitAck(msgspec.Struct, frozen=True, tag="Homed"):
    """Home to the peer that took a site in: I have it."""

    site: str


class Confirm(msgspec.Struct, frozen=True, tag=True):
    """Home to delegate: in this epoch the site is still yours; the lease begins anew."""

    site: str
    epoch: int


class ReleaseSite(msgspec.Struct, frozen=True, tag="Release"):
    """Home to former delegate: from this epoch on the site is somebody else's, who may ask for its state."""

    site: str
    epoch: int
    heir: PeerDescriptor


class Measure(msgspec.Struct, frozen=True, tag=True):
    """Home to a peer: please time a round trip to this site."""

    site: str
    home: PeerDescriptor


class SiteMeasured(msgspec.Struct, frozen=True, tag="Measured"):
    """A peer to the home: what it took; None when the site did not answer it."""

    site: str
    by: PeerDescriptor
    round_trip_ms: float | None
    neighbours: tuple[PeerDescriptor, ...] = ()  # whom to ask next, if this was the nearest so far


class ConflictNotice(msgspec.Struct, frozen=True, tag="Rival"):
    """A neighbour of both to one of two peers that claim the same region: here is the other."""

    card: PeerDescriptor


PeerMessage: TypeAlias = (
    Routed
    | LocateReply
    | Welcome
    | Update
    | HandOver
    | StoreRecords
    | PeerLeft
    | Registered
    | SubmitAck
    | CrawlSite
    | Confirm
    | ReleaseSite
    | Measure
    | SiteMeasured
    | ConflictNotice
)


class Outgoing(msgspec.Struct, frozen=True):
    """A message to be carried to a peer."""

    to: PeerDescriptor
    message: PeerMessage
