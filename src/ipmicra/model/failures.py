"""The reason why a visit gave no page -> its kind, its family, the party that can fix it, and advice.

This is the only catalogue: a new kind is a member of `FailureKind` and a row of `_KINDS`. A response whose
status gives no information about the page has the kind `status NNN`, see `status_kind`.

Invariant: pure. Crawlers of other versions may report any text as a kind: `kind_of` turns it into a kind of
this catalogue, a status of three digits, or `FailureKind.OTHER`.
"""

from __future__ import annotations

import enum
import re
from typing import Literal, NamedTuple, NewType, TypeAlias

Blame: TypeAlias = Literal["site", "host", "operator", "ours"]
StatusKind = NewType("StatusKind", str)

TURNED_AWAY = frozenset({401, 402, 403, 406, 407, 429, 451})
_STATUS = re.compile(r"status ([1-9][0-9]{2})", re.ASCII)


class FailureKind(enum.StrEnum):
    """The value is what is stored and sent; it never changes."""

    # reported by the fetcher
    BAD_URL = "bad_url"
    REFUSED_PORT = "refused_port"
    REFUSED_ADDRESS = "refused_address"
    DNS_NO_NAME = "dns_no_name"
    DNS_FAILED = "dns_failed"
    NO_NETWORK = "no_network"
    CONNECT = "connect"
    CONNECT_TIMEOUT = "connect_timeout"
    TLS = "tls"
    SILENT = "silent"
    TOO_SLOW = "too_slow"
    TOO_LONG = "too_long"
    HEADERS_TOO_LARGE = "headers_too_large"
    BAD_HTTP = "bad_http"
    RESET = "reset"
    BAD_ENCODING = "bad_encoding"
    INFLATE_BOMB = "inflate_bomb"
    REDIRECT_LOOP = "redirect_loop"
    REDIRECTS_TOO_MANY = "redirects_too_many"
    REDIRECT_REFUSED = "redirect_refused"
    CLOSED = "closed"
    # reported by the crawl
    BAD_REDIRECT = "bad_redirect"
    NOT_A_PAGE = "not_a_page"
    ROBOTS = "robots"
    ROBOTS_UNREACHABLE = "robots_unreachable"
    OUR_DEFECT = "our_defect"
    PROCESSING_KILLED = "processing_killed"
    # reported by a crawler of another version, and unknown here
    OTHER = "other"


Kind: TypeAlias = FailureKind | StatusKind


class FailureFamily(NamedTuple):
    """Kinds of failures that are fixed in the same way."""

    name: str
    title: str
    whose: str  # who can fix it: the site's, a host's, the operator's, ours, or nobody's (there is no fault)
    advice: str


_NAMES = FailureFamily(
    "names",
    "Names that do not resolve",
    "the site's",
    "The name was mistyped in a link, or is no longer registered. It is looked up again later. If one "
    "crawler reports many such names at once, check that host's name servers (fetching.dns_servers).",
)
_CONNECTING = FailureFamily(
    "connecting",
    "Connections that failed",
    "the site's",
    "Each was tried several times. A site that answers other crawlers but not this one may belong to another "
    "crawler: the page of the site shows which crawler has it, and why.",
)
_ENCRYPTION = FailureFamily(
    "encryption",
    "Certificates and encryption",
    "the site's",
    "The certificate has expired, belongs to another site, or is not signed by a known authority. If one "
    "crawler reports many such sites, its clock is wrong or its list of authorities is old.",
)
_SLOW = FailureFamily(
    "slow",
    "Responses that took too long",
    "the site's",
    "A site that is slow for one crawler only may be far from it: the page of the site shows its round "
    "trips. To wait longer, raise fetching.first_byte_ms_max.",
)
_TURNED_AWAY = FailureFamily(
    "turned-away",
    "Sites that refuse crawlers",
    "the operator's",
    "The site refuses on purpose, so the crawler does not insist. Check the contact in the User-Agent, ask "
    "the site's owner, or crawl more slowly (crawler.delay_seconds_min).",
)
_REFUSED = FailureFamily(
    "not-accepted",
    "Requests that sites do not accept",
    "the site's",
    "The link was wrong, or the page needs something that a crawler does not send. If many sites answer with "
    "the same status, check the requests that crawlers send.",
)
_SERVER = FailureFamily(
    "server-fails",
    "Servers that fail",
    "the site's",
    "Each was tried several times at growing intervals, and is visited again later. Nothing to do, unless "
    "the server fails because of too many requests: then crawl more slowly (crawler.delay_seconds_min).",
)
_ODD = FailureFamily(
    "odd-status",
    "Responses with a status that gives no information about the page",
    "the site's",
    "Nothing to do: the page that is stored stays as it is.",
)
_ROBOTS = FailureFamily(
    "robots-unreachable",
    "robots.txt that cannot be fetched",
    "the site's",
    "No page of the site is fetched before its robots.txt is. It is tried again after one minute, then at "
    "growing intervals of up to one day.",
)
_BROKEN = FailureFamily(
    "broken-answers",
    "Responses that violate HTTP",
    "the site's",
    "Nothing of the response is stored. If browsers show the site well, please report it to us with its URL.",
)
_REDIRECTS = FailureFamily(
    "redirects",
    "Redirects that lead nowhere",
    "the site's",
    "Nothing to do: the redirects form a loop, are too many, or lead to something that is not a URL.",
)
_OUT_OF_BOUNDS = FailureFamily(
    "out-of-bounds",
    "Addresses that crawlers must not connect to",
    "nobody's",
    "Crawlers do not connect to private addresses or to ports of other services, even if a link leads there. "
    "To crawl your own network, list its ranges in fetching.open_ranges.",
)
_HOST = FailureFamily(
    "no-network",
    "Hosts without network",
    "a host's",
    "The machine had no route or no free sockets. Run `ipmicra host status` on it.",
)
_OURS = FailureFamily(
    "ours",
    "Visits that were interrupted",
    "ours",
    "The crawler was stopped during the visit, or reported a kind that this coordinator does not know (then "
    "their versions differ). These pages are visited again later.",
)
_DEFECT = FailureFamily(
    "defects",
    "Pages on which our own code failed",
    "ours",
    "A defect of ipmicra: please report it with the URL of the page and the text below. Nothing of the page "
    "is stored; the crawl continues, and the page is visited again later.",
)
_KILLED = FailureFamily(
    "killed",
    "Pages whose processing was ended",
    "the site's",
    "Reading them took too long or too much memory, or crashed. They are left alone for twice as long each "
    "time, and cost their site's budget. A page that browsers show well is worth a report to us, with its "
    "address.",
)
_LEFT_ALONE = FailureFamily(
    "left-alone",
    "Pages that were not fetched or not stored",
    "nobody's",
    "Nothing to do: robots.txt forbids them, or they are pictures, archives or other files that are not "
    "pages.",
)


class _Entry(NamedTuple):
    family: FailureFamily
    description: str
    worth_a_retry: bool = False  # whether the same request may succeed later
    blame: Blame = "site"


_KINDS: dict[FailureKind, _Entry] = {
    FailureKind.DNS_NO_NAME: _Entry(_NAMES, "the name does not exist, or has no address"),
    FailureKind.DNS_FAILED: _Entry(_NAMES, "the name servers gave no usable answer", True),
    FailureKind.CONNECT: _Entry(_CONNECTING, "the connection was refused, or no route exists", True),
    FailureKind.CONNECT_TIMEOUT: _Entry(_CONNECTING, "the connection was not answered in time", True),
    FailureKind.RESET: _Entry(_CONNECTING, "closed before the response was complete", True),
    FailureKind.TLS: _Entry(_ENCRYPTION, "no encrypted connection could be made"),
    FailureKind.SILENT: _Entry(_SLOW, "connected, but no first byte arrived in time", True),
    FailureKind.TOO_SLOW: _Entry(_SLOW, "slower than the configured minimum rate", True),
    FailureKind.TOO_LONG: _Entry(_SLOW, "the response was not complete in time", True),
    FailureKind.ROBOTS_UNREACHABLE: _Entry(_ROBOTS, "robots.txt could not be fetched"),
    FailureKind.BAD_HTTP: _Entry(_BROKEN, "the response is not valid HTTP"),
    FailureKind.HEADERS_TOO_LARGE: _Entry(_BROKEN, "the headers are too large"),
    FailureKind.BAD_ENCODING: _Entry(_BROKEN, "the body cannot be decompressed"),
    FailureKind.INFLATE_BOMB: _Entry(_BROKEN, "the decompressed body is too large"),
    FailureKind.BAD_REDIRECT: _Entry(_REDIRECTS, "the redirect leads to something that is not a URL"),
    FailureKind.REDIRECT_LOOP: _Entry(_REDIRECTS, "the redirects form a loop"),
    FailureKind.REDIRECTS_TOO_MANY: _Entry(_REDIRECTS, "too many redirects in a row"),
    FailureKind.REDIRECT_REFUSED: _Entry(_REDIRECTS, "the redirect leads to a forbidden address"),
    FailureKind.BAD_URL: _Entry(_OUT_OF_BOUNDS, "not a URL of the web"),
    FailureKind.REFUSED_PORT: _Entry(_OUT_OF_BOUNDS, "the port belongs to another service"),
    FailureKind.REFUSED_ADDRESS: _Entry(_OUT_OF_BOUNDS, "the address is not public"),
    FailureKind.NO_NETWORK: _Entry(_HOST, "no route, or no free sockets", True, "host"),
    FailureKind.CLOSED: _Entry(_OURS, "the crawler was stopped during the visit", True, "ours"),
    FailureKind.OTHER: _Entry(_OURS, "a kind that this version does not know", blame="ours"),
    FailureKind.OUR_DEFECT: _Entry(_DEFECT, "an error in our own code", blame="ours"),
    FailureKind.PROCESSING_KILLED: _Entry(_KILLED, "it took too long or too much memory to read"),
    FailureKind.ROBOTS: _Entry(_LEFT_ALONE, "robots.txt forbids it"),
    FailureKind.NOT_A_PAGE: _Entry(_LEFT_ALONE, "not a page"),
}
assert _KINDS.keys() == set(FailureKind), "every kind has its row"


def status_kind(status: int) -> StatusKind:
    """The kind of a response whose status gives no information about the page."""
    return StatusKind(f"status {status}")


def kind_of(word: str) -> Kind:
    """The kind under which a reported failure is counted."""
    if _STATUS.fullmatch(word):
        return StatusKind(word)
    return FailureKind(word) if word in _WORDS else FailureKind.OTHER


def failure_of(word: str) -> FailureKind:
    """Like `kind_of`, for reports that cannot be a status."""
    kind = kind_of(word)
    return kind if isinstance(kind, FailureKind) else FailureKind.OTHER


def status_in(kind: Kind) -> int | None:
    """The status of a `status NNN`; None for every other kind."""
    match = _STATUS.fullmatch(kind)
    return None if match is None else int(match[1])


def family_of(kind: Kind) -> FailureFamily:
    status = status_in(kind)
    return _entry(kind).family if status is None else _family_of_status(status)


def description_of(kind: Kind) -> str:
    """What happened, in words for people."""
    return str(kind) if status_in(kind) is not None else _entry(kind).description


def is_worth_a_retry(kind: FailureKind) -> bool:
    return _KINDS[kind].worth_a_retry


def blame_of(kind: FailureKind) -> Blame:
    return _KINDS[kind].blame


def _entry(kind: Kind) -> _Entry:
    return _KINDS[FailureKind(kind)]


def _family_of_status(status: int) -> FailureFamily:
    if status in TURNED_AWAY:
        return _TURNED_AWAY
    return {4: _REFUSED, 5: _SERVER}.get(status // 100, _ODD)


_WORDS = frozenset(kind.value for kind in FailureKind)
