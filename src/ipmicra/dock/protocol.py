"""What a host and the coordinator say to each other: requests, orders and reports, as MessagePack records.

Every request is begun by the host. A record may gain fields with defaults; none ever changes its
meaning.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

ORDERS_AT_ONCE = 50


class _Record(msgspec.Struct, frozen=True, kw_only=True):
    pass


class Enrolment(_Record, frozen=True, kw_only=True):
    """The first word of a host: its one-time token and the key it has made for itself."""

    token: str
    public_key: bytes  # Ed25519, 32 bytes
    version: str = ""


class Enrolled(_Record, frozen=True, kw_only=True):
    """The coordinator's answer: who the host is from now on."""

    host: str
    server_time_ms: int
    contact: str = ""  # whom owners of sites can turn to: it goes into the User-Agent


class Grant(_Record, frozen=True, kw_only=True):
    """A site that is the crawler's for an epoch, and what it should begin with."""

    site: str
    epoch: int
    address: str = ""  # crawl it at this address, the one that was probed
    links: tuple[str, ...] = ()
    has_state: bool = False  # a former crawler's frontier, clocks and history wait to be fetched


class ProbeTarget(_Record, frozen=True, kw_only=True):
    site: str
    address: str
    port: int = 443
    is_host: bool = False  # a fellow host's address: whatever its machine answers counts, a refusal too


class ProbeThese(_Record, frozen=True, kw_only=True, tag="probe"):
    """Measure round trips, each target once."""

    targets: tuple[ProbeTarget, ...]


class TakeThese(_Record, frozen=True, kw_only=True, tag="take"):
    grants: tuple[Grant, ...]


class ReleaseThese(_Record, frozen=True, kw_only=True, tag="release"):
    """Stop crawling sites at once, and send their state for whoever has them next."""

    sites: tuple[tuple[str, int], ...]  # name and the epoch that ends


class CrawlOwnSites(_Record, frozen=True, kw_only=True, tag="own-sites"):
    sites: tuple[Grant, ...]


class Upgrade(_Record, frozen=True, kw_only=True, tag="upgrade"):
    version: str


class Pause(_Record, frozen=True, kw_only=True, tag="pause"):
    reason: str = ""


class Resume(_Record, frozen=True, kw_only=True, tag="resume"):
    pass


class Retire(_Record, frozen=True, kw_only=True, tag="retire"):
    """Release everything, send what is spooled, and end."""

    reason: str = ""


class LookAt(_Record, frozen=True, kw_only=True, tag="look"):
    """Fetch pages that another crawler has brought, and tell how they look from here."""

    urls: tuple[str, ...]


OrderBody: TypeAlias = (
    ProbeThese | TakeThese | ReleaseThese | CrawlOwnSites | Upgrade | Pause | Resume | Retire | LookAt
)


class Order(_Record, frozen=True, kw_only=True):
    """One order. It is offered until it is reported done; doing it twice must change nothing."""

    number: int
    body: OrderBody


class Orders(_Record, frozen=True, kw_only=True):
    """The answer to a long poll."""

    orders: tuple[Order, ...] = ()
    server_time_ms: int
    epoch: int  # of the host's lease; a higher one than the host knows: it had been given up
    lease_s: float


class ProbeResult(_Record, frozen=True, kw_only=True):
    site: str
    address: str
    round_trip_ms: float | None
    way: str = ""  # "connect", "head", "icmp"
    silence: str | None = None  # why nothing came back


class Look(_Record, frozen=True, kw_only=True):
    """A page as seen from one host; without a content hash it could not be seen."""

    url: str
    content_hash: str = ""  # hexadecimal
    similarity_hash: int = 0
    detail: str = ""


class OrderDone(_Record, frozen=True, kw_only=True):
    """What became of an order."""

    number: int
    done: bool = True
    detail: str = ""
    probes: tuple[ProbeResult, ...] = ()
    looks: tuple[Look, ...] = ()


class Passive(_Record, frozen=True, kw_only=True):
    """Round trips that ordinary fetches had, by site and address."""

    site: str
    address: str
    round_trip_ms: float
    first_byte_ms: float
    download_ms: float
    fetches: int
    body_bytes: int


class CodeReport(_Record, frozen=True, kw_only=True):
    """What became of the code that was dispatched to the host."""

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
    position: tuple[float, float] | None = None  # latitude and longitude, where the owner tells them
    own_sites: tuple[str, ...] = ()  # the owner's, to be crawled from here
    rules: dict[str, str] = {}  # in the owner's words, for people
    version: str = ""  # of the dock
    code: CodeReport = CodeReport()


class Refusal(_Record, frozen=True, kw_only=True):
    """Why a request was not taken. `kind` is for programs, `reason` for people."""

    kind: str
    reason: str
    server_time_ms: int = 0
