"""Messages between a host and the coordinator: requests, orders and reports, as MessagePack records.

Every request is started by the host. A record may gain fields with defaults; none ever changes its
meaning.

| protocol | what is new in it                                                                   |
|---------:|-------------------------------------------------------------------------------------|
|        1 | version 0.1.0; also used for a peer that states no protocol                         |
|        2 | `None` for a time that was not measured; 0.0 before, which is still read as `None`. |
|          | A host states the kinds of order that it understands, and refuses others one by one. |
|          | The order `send-whole`                                                              |
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias, get_args

import msgspec

from ipmicra.model.ids import LeaseEpoch, SiteEpoch
from ipmicra.protocol.foreign_bytes import UNREADABLE

PROTOCOL = 2
PROTOCOL_WITHOUT_NONE = 1  # its readers refuse a report with `None` for a time
ORDERS_AT_ONCE = 50


class _Record(msgspec.Struct, frozen=True, kw_only=True):
    pass


class Enrolment(_Record, frozen=True, kw_only=True):
    """The first word of a host: its one-time token and the key it has made for itself."""

    token: str
    public_key: bytes  # Ed25519, 32 bytes
    version: str = ""


class Enrolled(_Record, frozen=True, kw_only=True):
    """The coordinator's answer to a new host: its identity."""

    host: str
    server_time_ms: int
    contact: str = ""  # contact for owners of sites: part of the User-Agent


class AssignedSite(_Record, frozen=True, kw_only=True):
    """A site that is assigned to the crawler for an epoch, with its first URLs."""

    site: str
    epoch: SiteEpoch
    address: str = ""  # crawl it at this address, the one that was probed
    links: tuple[str, ...] = ()
    has_state: bool = False  # a former crawler's frontier, clocks and history wait to be fetched


class ProbeTarget(_Record, frozen=True, kw_only=True):
    site: str
    address: str
    port: int = 443
    is_host: bool = False  # another host's address: any answer of its machine counts, a refusal too


class ProbeTargets(_Record, frozen=True, kw_only=True, tag="probe"):
    """Measure round trips, each target once."""

    targets: tuple[ProbeTarget, ...]


class AssignSites(_Record, frozen=True, kw_only=True, tag="take"):
    grants: tuple[AssignedSite, ...]


class ReleaseSites(_Record, frozen=True, kw_only=True, tag="release"):
    """Stop crawling sites at once, and send their state for the next owner."""

    sites: tuple[tuple[str, SiteEpoch], ...]  # name and the epoch that ends


class AssignOwnSites(_Record, frozen=True, kw_only=True, tag="own-sites"):
    sites: tuple[AssignedSite, ...]


class Upgrade(_Record, frozen=True, kw_only=True, tag="upgrade"):
    version: str


class Pause(_Record, frozen=True, kw_only=True, tag="pause"):
    reason: str = ""


class Resume(_Record, frozen=True, kw_only=True, tag="resume"):
    pass


class Retire(_Record, frozen=True, kw_only=True, tag="retire"):
    """Release everything, send what is spooled, and end."""

    reason: str = ""


class ObservePages(_Record, frozen=True, kw_only=True, tag="look"):
    """Fetch pages that another crawler has delivered, and report how they look from here."""

    urls: tuple[str, ...]


class SendWhole(_Record, frozen=True, kw_only=True, tag="send-whole"):
    """Visit pages of sites that you hold once more, now, and send them whole: a change came, and the page
    that it changes is not known here.
    """

    urls: tuple[str, ...]


OrderBody: TypeAlias = (
    ProbeTargets
    | AssignSites
    | ReleaseSites
    | AssignOwnSites
    | Upgrade
    | Pause
    | Resume
    | Retire
    | ObservePages
    | SendWhole
)


def kind_of(body: type[OrderBody]) -> str:
    """The name of this kind of order."""
    return str(body.__struct_config__.tag)


ORDER_KINDS = tuple(kind_of(body) for body in get_args(OrderBody))
FIRST_ORDER_KINDS = frozenset(  # those of protocol 1, which every host understands that states none
    {"probe", "take", "release", "own-sites", "upgrade", "pause", "resume", "retire", "look"}
)


class Order(_Record, frozen=True, kw_only=True):
    """One order. It is offered until it is reported done; doing it twice must change nothing."""

    number: int
    body: OrderBody


class Orders(_Record, frozen=True, kw_only=True):
    """The answer to a long poll."""

    orders: tuple[Order, ...] = ()
    server_time_ms: int
    epoch: LeaseEpoch  # of the host's lease; a higher one than the host knows: it had been given up
    lease_s: float
    protocol: int = PROTOCOL_WITHOUT_NONE  # the protocol that the coordinator uses


class UnknownOrder(NamedTuple):
    """An order that this version cannot read: its kind is newer, or it lacks something."""

    number: int
    kind: str  # empty where not even that can be read
    why: str

    def refusal(self) -> OrderDone:
        detail = f"this host does not understand the order: {self.why}"
        return OrderDone(number=self.number, done=False, detail=detail, unknown_kind=self.kind or "?")


class OfferedOrders(NamedTuple):
    """An answer to a long poll, as this version can read it."""

    readable: Orders
    unknown: tuple[UnknownOrder, ...] = ()


class _RawOrder(_Record, frozen=True, kw_only=True):
    number: int
    body: msgspec.Raw = msgspec.Raw()


class _RawOrders(_Record, frozen=True, kw_only=True):
    orders: tuple[_RawOrder, ...] = ()


class _AnyBody(_Record, frozen=True, kw_only=True):
    type: str = ""


def read_orders(data: bytes) -> OfferedOrders:
    """Read each order by itself, so that one of another version does not hide the others.

    Raises msgspec.MsgspecError if the answer as a whole is not `Orders`.
    """
    try:
        return OfferedOrders(_decode_orders(data))
    except msgspec.ValidationError:
        known: list[Order] = []
        unknown: list[UnknownOrder] = []
        for raw in _decode_raw_orders(data).orders:
            try:
                known.append(Order(number=raw.number, body=_decode_body(raw.body)))
            except UNREADABLE as error:
                unknown.append(UnknownOrder(raw.number, _kind_in(raw.body), str(error)))
        if not unknown:
            raise
        rest = msgspec.msgpack.decode(data)
        envelope = msgspec.convert({**rest, "orders": []}, Orders)
        return OfferedOrders(msgspec.structs.replace(envelope, orders=tuple(known)), tuple(unknown))


def _kind_in(body: msgspec.Raw) -> str:
    try:
        return msgspec.msgpack.decode(body, type=_AnyBody).type
    except UNREADABLE:
        return ""


_decode_orders = msgspec.msgpack.Decoder(Orders).decode
_decode_raw_orders = msgspec.msgpack.Decoder(_RawOrders).decode
_decode_body = msgspec.msgpack.Decoder(OrderBody).decode


class Ack(_Record, frozen=True, kw_only=True):
    """The answer to every request but one for orders: what was sent is durable. It decodes as empty
    `Orders`, which is how protocol 1 acknowledged.
    """

    server_time_ms: int
    epoch: LeaseEpoch
    lease_s: float
    protocol: int = PROTOCOL_WITHOUT_NONE


class ProbeResult(_Record, frozen=True, kw_only=True):
    site: str
    address: str
    round_trip_ms: float | None
    way: str = ""  # "connect", "head", "icmp"
    silence: str | None = None  # why nothing came back


class PageObservation(_Record, frozen=True, kw_only=True):
    """A page as seen from one host; without a content hash it could not be seen."""

    url: str
    content_hash: str = ""  # hexadecimal
    similarity_hash: int = 0
    detail: str = ""


class OrderDone(_Record, frozen=True, kw_only=True):
    """The result of an order."""

    number: int
    done: bool = True
    detail: str = ""
    probes: tuple[ProbeResult, ...] = ()
    looks: tuple[PageObservation, ...] = ()
    unknown_kind: str = ""  # the order was refused because the host does not know this kind


class Passive(_Record, frozen=True, kw_only=True):
    """Times that ordinary fetches had, by site and address. None: not measured, for instance where no
    connection was made. No round trip and no first byte takes 0.0 ms: that is how protocol 1 writes None.
    """

    site: str
    address: str
    round_trip_ms: float | None  # the least
    first_byte_ms: float | None  # the mean
    download_ms: float | None  # the mean
    fetches: int
    body_bytes: int

    def __post_init__(self) -> None:
        if not _is_time(self.round_trip_ms):
            msgspec.structs.force_setattr(self, "round_trip_ms", None)
        if not _is_time(self.first_byte_ms):
            msgspec.structs.force_setattr(self, "first_byte_ms", None)
            msgspec.structs.force_setattr(self, "download_ms", None)

    @property
    def is_whole(self) -> bool:
        """Whether all times were measured."""
        return None not in (self.round_trip_ms, self.first_byte_ms, self.download_ms)


def _is_time(value_ms: float | None) -> bool:
    return value_ms is not None and 0.0 < value_ms < math.inf


def encode_missing_times(protocol: int, passives: Iterable[Passive]) -> tuple[Passive, ...]:
    """Encode for a reader of that protocol: protocol 1 gets complete measurements only, since it refuses
    None and takes 0.0 ms for a very near site.
    """
    if protocol > PROTOCOL_WITHOUT_NONE:
        return tuple(passives)
    return tuple(passive for passive in passives if passive.is_whole)


class CodeReport(_Record, frozen=True, kw_only=True):
    """The state of the code that was dispatched to the host."""

    version: str = ""  # that has proved healthy; empty: what the owner installed
    trial: str = ""  # that is being tried
    refused: tuple[tuple[str, str], ...] = ()  # versions that were not taken or rolled back, and why
    ends_today: int = 0  # times that the code ended by itself
    takes_bundles: bool = False


class Heartbeat(_Record, frozen=True, kw_only=True):
    """A host's report: that it lives, what it did, and its rules as they are now."""

    done: tuple[OrderDone, ...] = ()
    passive: tuple[Passive, ...] = ()
    awake: bool = True
    awake_until_ms: int | None = None  # or, when asleep, until when
    resting: str = ""  # why it is asleep, for people
    sites: int = 0
    pages: int = 0
    spooled_packages: int = 0
    bytes_today: int = 0
    capacity_bytes_a_day: int = 0
    position: tuple[float, float] | None = None  # latitude and longitude, where the owner states them
    own_sites: tuple[str, ...] = ()  # the owner's, to be crawled from here
    rules: dict[str, str] = {}  # in the owner's words, for people
    version: str = ""  # of the host
    code: CodeReport = CodeReport()
    protocol: int = PROTOCOL_WITHOUT_NONE
    order_kinds: tuple[str, ...] = ()  # that the host understands; none stated: those of protocol 1


class RefusalMessage(_Record, frozen=True, kw_only=True):
    """Why a request was not taken. `kind` is for programs, `reason` for people."""

    kind: str
    reason: str
    server_time_ms: int = 0
