"""The responses of the coordinator's HTTP API, as typed values. Its OpenAPI description is made from these.

Invariant: a field is added with a default and never renamed, so that older and newer programs read each
other. Needs msgspec only: `ipmicra.coordinator.client` is used where nothing else is installed.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

URLS_MAX = 1_000  # of one submission
SUBMISSION_BYTES_MAX = 4 << 20


class HostStatus(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    state: str
    present: bool
    awake: bool
    resting: str  # why it is not awake, in the host's words
    address: str  # the address it connects from; "" for readers who may not see it
    heard_s: float | None
    sites: int
    epoch: int
    report: dict[str, object]


class EventView(msgspec.Struct, frozen=True, kw_only=True):
    at_s: float
    kind: str
    subject: str
    detail: str


class CoordinatorStatus(msgspec.Struct, frozen=True, kw_only=True):
    hosts: list[HostStatus]
    sites: dict[str, int]
    open_orders: dict[str, int]
    packages: dict[str, int]
    events: list[EventView]


class Nearest(msgspec.Struct, frozen=True, kw_only=True):
    """The nearest crawler to a site, as far as it is known."""

    site: str
    state: str  # see sites.SiteState; "unknown" before the first request for the site
    crawler: str | None = None
    address: str = ""
    subnet: str = ""
    round_trip_ms: float | None = None
    why: str = ""
    decided_s: float | None = None
    note: str = ""


class SubnetSeen(msgspec.Struct, frozen=True, kw_only=True):
    range: str
    organisation: str
    country: str
    registry: str


class RememberedRoundTrip(msgspec.Struct, frozen=True, kw_only=True):
    """The round trip from one crawler to the address, as remembered."""

    crawler: str
    round_trip_ms: float | None
    age_s: float
    probes: int
    fetches: int


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A crawler that is present."""

    crawler: str
    awake: bool
    sites: int
    bytes_today: int
    capacity_bytes_a_day: int


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known about the owner of a site and the reasons."""

    nearest: Nearest
    path: list[SubnetSeen] = []  # from the whole Internet down
    path_note: str = ""
    decided_by: str = ""  # the strategy
    age_s: float | None = None
    probes: list[tuple[str, float | None, str]] = []  # of the decision: crawler, round trip, silence
    steps: list[tuple[str, str]] = []
    remembered: list[RememberedRoundTrip] = []
    candidates: list[Candidate] = []
    others: dict[str, str] = {}  # what each strategy would choose by what is remembered


class FailedVisit(msgspec.Struct, frozen=True, kw_only=True):
    """The newest failure of a kind, of one site for one crawler."""

    url: str
    site: str  # "" beyond the crawler's limit of sites that day
    crawler: str
    at_s: float
    detail: str  # as the crawler reported it


class FailedVisits(msgspec.Struct, frozen=True, kw_only=True):
    """All failures of one kind in the last days."""

    kind: str
    family: str
    title: str  # of the family
    whose: str
    what: str
    advice: str
    count: int
    sites: int  # with a known name
    latest_s: float
    examples: list[FailedVisit]


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of trouble."""

    kind: str
    whose: str  # the site's, a host's, the operator's, ours
    what: str
    advice: str
    count: int
    examples: list[str] = []


class AlertList(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that goes wrong: here and now, and in crawlers' visits of the last days."""

    troubles: list[Alert]
    failures: list[FailedVisits]


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """Pages to crawl."""

    urls: Annotated[
        list[Annotated[str, msgspec.Meta(max_length=2_000)]],
        msgspec.Meta(min_length=1, max_length=URLS_MAX),
    ]


class Submitted(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a submission."""

    submitted: int
    new: int  # URLs that were not known before


class ApiRefusal(msgspec.Struct, frozen=True, kw_only=True):
    """Why a request was refused, in words for people."""

    status_code: int
    detail: str
