"""Messages between peers: plain records, the same in the simulator and on the wire.

Times are seconds of the clock that drives the peers; distances are milliseconds. Invariant: tags and field
names on the wire never change; where an attribute has a clearer name, `msgspec.field(name=...)` keeps the
wire's.
"""

from __future__ import annotations

from typing import NewType, TypeAlias

import msgspec

from ipmicra.model.ids import DelegateEpoch
from ipmicra.model.zones import SpacePoint, ZoneBox

PeerId = NewType("PeerId", str)


class PeerDescriptor(msgspec.Struct, frozen=True, array_like=True):
    """A peer's description of itself. `version` rises with every change, so an old one never wins."""

    peer: PeerId
    point: SpacePoint
    zones: tuple[ZoneBox, ...]
    load: float = 0.0  # pages of the sites it crawls
    capacity: float = 1.0  # relative to other peers
    version: int = 0
    address: str = ""  # how a transport reaches it
    landmarks_ms: tuple[
        tuple[PeerId, float], ...
    ] = ()  # the round trips that its point was computed from


class PeerMeasurement(msgspec.Struct, frozen=True, array_like=True):
    """A peer's round trip to a site, and how to reach that peer; infinite if the site did not answer."""

    peer: PeerId
    round_trip_ms: float
    point: SpacePoint
    address: str = ""


class SiteRecord(msgspec.Struct, frozen=True, array_like=True):
    """A site as its home knows it: where it lies, which peers measured it, which one crawls it."""

    site: str
    key: SpacePoint  # inside the space; decides the home
    point: SpacePoint  # as measured; decides nearness
    pages: float = 1.0
    measured: tuple[PeerMeasurement, ...] = ()  # the nearest first; survives its home with the record
    delegate: PeerId = PeerId("")
    delegate_address: str = ""  # as in the delegate's descriptor; a new home may not have that
    epoch: DelegateEpoch = DelegateEpoch(
        0
    )  # rises whenever the delegate changes; the older epoch stops crawling


class Join(msgspec.Struct, frozen=True, tag=True):
    """Routed to the owner of the newcomer's point. The bootstrap peer has filled in the scheme."""

    newcomer: PeerDescriptor
    scheme: str
    passed_on: bool = False  # by NH or GH, to the peer that is to split: split here


class Submit(msgspec.Struct, frozen=True, tag=True):
    """Routed to the home of the site, which answers `SubmitAck` to the peer that submitted it."""

    record: SiteRecord
    taken_in_by: PeerDescriptor | None = None  # None: by the peer that receives this message


class Announce(msgspec.Struct, frozen=True, tag=True):
    """Routed to the home of the site: I crawl it. Restores a home that was lost with all its neighbours."""

    record: SiteRecord
    crawler: PeerDescriptor


class HandBack(msgspec.Struct, frozen=True, tag="Resign"):
    """Routed to the home of the site: I am about to leave, assign it to another peer."""

    site: str
    crawler: PeerId


class Locate(msgspec.Struct, frozen=True, tag=True):
    """Routed to the owner of the key, which answers `LocateReply` to the asker."""

    asker: PeerDescriptor
    question: str


class ReplicateFar(msgspec.Struct, frozen=True, tag="Testify"):
    """Routed to the far end of the space: the sender's records, in case all peers that know them die."""

    records: tuple[SiteRecord, ...]


class Register(msgspec.Struct, frozen=True, tag=True):
    """Routed to the registrar of the site's name, which answers `Registered` to the asker."""

    record: SiteRecord
    asker: PeerDescriptor


RoutedPayload: TypeAlias = Join | Submit | Announce | HandBack | Locate | ReplicateFar | Register


class Routed(msgspec.Struct, frozen=True, tag=True):
    """A message on its way to the owner of `key`."""

    key: SpacePoint
    payload: RoutedPayload = msgspec.field(name="letter")
    hops: int = 0
    seen: tuple[PeerId, ...] = ()


class LocateReply(msgspec.Struct, frozen=True, tag="Located"):
    """The owner of the requested key, and the number of hops to it."""

    question: str
    owner: PeerDescriptor
    hops: int


class Welcome(msgspec.Struct, frozen=True, tag=True):
    """The newcomer's zones, its sites, and all peers that may be its neighbours."""

    zones: tuple[ZoneBox, ...]
    sites: tuple[SiteRecord, ...]
    acquaintances: tuple[PeerDescriptor, ...]
    splits: int  # how often the zone has been split, for schemes that use the dimensions in turn
    registered: tuple[SiteRecord, ...] = ()  # names that the newcomer may become the registrar of


class Update(msgspec.Struct, frozen=True, tag=True):
    """A peer's descriptor, its neighbours', and its home sites (of which neighbours store a replica)."""

    descriptor: PeerDescriptor = msgspec.field(name="card")
    neighbours: tuple[PeerDescriptor, ...] = ()
    sites: tuple[SiteRecord, ...] | None = None  # None: as before
    busiest: PeerDescriptor | None = None  # the most loaded peer known, for GH
    registered: tuple[SiteRecord, ...] = ()  # names that it is the registrar of, together with `sites`


class HandOver(msgspec.Struct, frozen=True, tag=True):
    """Zones and sites for the receiver to take, and the peers that may become its neighbours."""

    leaver: PeerId
    zones: tuple[ZoneBox, ...]
    sites: tuple[SiteRecord, ...]
    acquaintances: tuple[PeerDescriptor, ...]


class StoreRecords(msgspec.Struct, frozen=True, tag="Remember"):
    """Records of sites in the receiver's zones that it seems not to have."""

    sites: tuple[SiteRecord, ...]


class PeerLeft(msgspec.Struct, frozen=True, tag="Gone"):
    """A leaving peer to its neighbours: drop me; the successor owns my zones."""

    leaver: PeerId
    successor: PeerDescriptor = msgspec.field(name="heir")


class CrawlSite(msgspec.Struct, frozen=True, tag="Crawl"):
    """Home to delegate: crawl this site from this epoch on."""

    record: SiteRecord
    home: PeerDescriptor


class Registered(msgspec.Struct, frozen=True, tag=True):
    """Registrar to the asker: the record that was registered first, perhaps not the one that was sent."""

    record: SiteRecord


class SubmitAck(msgspec.Struct, frozen=True, tag="Homed"):
    """Home to the peer that submitted a site: I have it."""

    site: str


class Confirm(msgspec.Struct, frozen=True, tag=True):
    """Home to delegate: in this epoch the site is still yours; the lease begins anew."""

    site: str
    epoch: DelegateEpoch


class ReleaseSite(msgspec.Struct, frozen=True, tag="Release"):
    """Home to former delegate: from this epoch on the successor crawls the site and needs its state."""

    site: str
    epoch: DelegateEpoch
    successor: PeerDescriptor = msgspec.field(name="heir")


class Measure(msgspec.Struct, frozen=True, tag=True):
    """Home to a peer: measure a round trip to this site."""

    site: str
    home: PeerDescriptor


class SiteMeasured(msgspec.Struct, frozen=True, tag="Measured"):
    """A peer to the home: the measured round trip; None when the site did not answer."""

    site: str
    by: PeerDescriptor
    round_trip_ms: float | None
    neighbours: tuple[PeerDescriptor, ...] = ()  # candidates to ask next, if this was the nearest so far


class ConflictNotice(msgspec.Struct, frozen=True, tag="Rival"):
    """A common neighbour to one of two peers that claim the same region: the other peer's descriptor."""

    descriptor: PeerDescriptor = msgspec.field(name="card")


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
    """A message to be sent to a peer."""

    to: PeerDescriptor
    message: PeerMessage
