"""Why a visit brought no page -> its kind, its family, who can fix it, and what to do about it.

The one catalogue: a new kind is a member of `FailureKind` and a row of `_KINDS`. An answer with a status that
says nothing about the page is the kind `status NNN`, see `status_kind`.

Invariant: pure. A word comes from a crawler, maybe of another version, so it may be anything: `kind_of` makes
it one of the kinds here, or a status of three digits, or `FailureKind.OTHER`.
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
    """The value is the word that is recorded and sent; it never changes."""

    # the fetcher's
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
    # the crawl's
    BAD_REDIRECT = "bad_redirect"
    NOT_A_PAGE = "not_a_page"
    ROBOTS = "robots"
    ROBOTS_UNREACHABLE = "robots_unreachable"
    OUR_DEFECT = "our_defect"
    # whatever a crawler of another version says
    OTHER = "other"


Kind: TypeAlias = FailureKind | StatusKind


class FailureFamily(NamedTuple):
    """Kinds of failures that are mended in the same way."""

    name: str
    title: str
    whose: str  # the site's, a host's, the operator's, ours, nobody's
    advice: str


_NAMES = FailureFamily(
    "names",
    "Names that lead to no address",
    "the site's",
    "A name that does not exist was mistyped where it was linked, or given up; it is asked for again in "
    "time. Many at once from one crawler: look at that host's name servers (fetching.dns_servers).",
)
_CONNECTING = FailureFamily(
    "connecting",
    "Connections that failed",
    "the site's",
    "They were tried several times. A site that answers others but not this crawler may be better off with "
    "another: see who has it, and why, behind its name.",
)
_ENCRYPTION = FailureFamily(
    "encryption",
    "Certificates and encryption",
    "the site's",
    "The certificate has run out, is another site's, or nobody vouches for it. Many sites from one "
    "crawler: its clock is wrong, or its list of authorities is old.",
)
_SLOW = FailureFamily(
    "slow",
    "Answers that took too long",
    "the site's",
    "A site that is slow for one crawler alone may be far from it: see its round trips behind its name. "
    "More patience: fetching.first_byte_ms_max.",
)
_TURNED_AWAY = FailureFamily(
    "turned-away",
    "Sites that turn crawlers away",
    "the operator's",
    "They mean it, and are not pressed. See that the contact in the User-Agent is right, ask the site's "
    "owner, or go slower (crawler.delay_seconds_min).",
)
_REFUSED = FailureFamily(
    "not-accepted",
    "Requests that sites do not accept",
    "the site's",
    "The address was wrong where it was linked, or wants what a crawler does not send. One status on many "
    "sites: look at what crawlers ask for.",
)
_SERVER = FailureFamily(
    "server-fails",
    "Servers that fail",
    "the site's",
    "They were tried several times, ever more rarely, and are visited again in time. Nothing to do, unless "
    "they fail because of too many requests: go slower (crawler.delay_seconds_min).",
)
_ODD = FailureFamily(
    "odd-status",
    "Answers with a status that says nothing about the page",
    "the site's",
    "Nothing to do: the page stays as it was.",
)
_ROBOTS = FailureFamily(
    "robots-unreachable",
    "robots.txt that cannot be had",
    "the site's",
    "Nothing of the site is asked for until its robots.txt answers; it is asked again after a minute, then "
    "ever more rarely, up to a day.",
)
_BROKEN = FailureFamily(
    "broken-answers",
    "Answers that break the rules of HTTP",
    "the site's",
    "Nothing of them is kept. A site that browsers show well all the same is worth a report to us, with "
    "its address.",
)
_REDIRECTS = FailureFamily(
    "redirects",
    "Redirects that lead nowhere",
    "the site's",
    "Nothing to do: a loop, a chain without end, or a target that is no address.",
)
_OUT_OF_BOUNDS = FailureFamily(
    "out-of-bounds",
    "Addresses that crawlers do not go to",
    "nobody's",
    "Private addresses and ports of other services are kept from crawlers, whatever links say. Your own "
    "network is opened with fetching.open_ranges.",
)
_HOST = FailureFamily(
    "no-network",
    "Hosts without a network",
    "a host's",
    "The machine had no route, or no sockets left. See on it: ipmicra host status.",
)
_OURS = FailureFamily(
    "ours",
    "Visits that were broken off",
    "ours",
    "The crawler was stopped meanwhile, or tells a kind that this coordinator does not know: then one of "
    "the two is older. They are visited again in time.",
)
_DEFECT = FailureFamily(
    "defects",
    "Pages that our own code failed on",
    "ours",
    "A defect of ipmicra: please report it, with the page's address and the text below. Nothing of the page "
    "is kept; the crawl goes on, and the page is visited again in time.",
)
_LEFT_ALONE = FailureFamily(
    "left-alone",
    "Pages that were left alone",
    "nobody's",
    "As it should be: robots.txt forbids them, or they are pictures, archives and other things that are no "
    "pages.",
)


class _Entry(NamedTuple):
    family: FailureFamily
    description: str
    worth_a_retry: bool = False  # whether the same request may well succeed later
    blame: Blame = "site"


_KINDS: dict[FailureKind, _Entry] = {
    FailureKind.DNS_NO_NAME: _Entry(_NAMES, "the name does not exist, or has no address"),
    FailureKind.DNS_FAILED: _Entry(_NAMES, "name servers gave no usable answer", True),
    FailureKind.CONNECT: _Entry(_CONNECTING, "refused or unreachable", True),
    FailureKind.CONNECT_TIMEOUT: _Entry(_CONNECTING, "nobody answered the connection", True),
    FailureKind.RESET: _Entry(_CONNECTING, "closed before the answer was complete", True),
    FailureKind.TLS: _Entry(_ENCRYPTION, "no encrypted connection"),
    FailureKind.SILENT: _Entry(_SLOW, "connected, but no first byte in time", True),
    FailureKind.TOO_SLOW: _Entry(_SLOW, "slower than the slowest that is put up with", True),
    FailureKind.TOO_LONG: _Entry(_SLOW, "not finished in time", True),
    FailureKind.ROBOTS_UNREACHABLE: _Entry(_ROBOTS, "robots.txt was not answered"),
    FailureKind.BAD_HTTP: _Entry(_BROKEN, "not HTTP, or against its rules"),
    FailureKind.HEADERS_TOO_LARGE: _Entry(_BROKEN, "headers too large"),
    FailureKind.BAD_ENCODING: _Entry(_BROKEN, "the body does not inflate"),
    FailureKind.INFLATE_BOMB: _Entry(_BROKEN, "the body inflates absurdly"),
    FailureKind.BAD_REDIRECT: _Entry(_REDIRECTS, "to something that is no address"),
    FailureKind.REDIRECT_LOOP: _Entry(_REDIRECTS, "in a circle"),
    FailureKind.REDIRECTS_TOO_MANY: _Entry(_REDIRECTS, "too many, one after the other"),
    FailureKind.REDIRECT_REFUSED: _Entry(_REDIRECTS, "to where crawlers do not go"),
    FailureKind.BAD_URL: _Entry(_OUT_OF_BOUNDS, "no address of the web"),
    FailureKind.REFUSED_PORT: _Entry(_OUT_OF_BOUNDS, "a port of another service"),
    FailureKind.REFUSED_ADDRESS: _Entry(_OUT_OF_BOUNDS, "an address that is not public"),
    FailureKind.NO_NETWORK: _Entry(_HOST, "no route, or no sockets left", True, "host"),
    FailureKind.CLOSED: _Entry(_OURS, "the crawler was stopped meanwhile", True, "ours"),
    FailureKind.OTHER: _Entry(_OURS, "a kind that is not known here", blame="ours"),
    FailureKind.OUR_DEFECT: _Entry(_DEFECT, "an error in our own code", blame="ours"),
    FailureKind.ROBOTS: _Entry(_LEFT_ALONE, "robots.txt forbids it"),
    FailureKind.NOT_A_PAGE: _Entry(_LEFT_ALONE, "not a page"),
}
assert _KINDS.keys() == set(FailureKind), "every kind has its row"


def status_kind(status: int) -> StatusKind:
    """The kind of an answer whose status says nothing about the page."""
    return StatusKind(f"status {status}")


def kind_of(word: str) -> Kind:
    """The kind that a failure is counted as."""
    if _STATUS.fullmatch(word):
        return StatusKind(word)
    return FailureKind(word) if word in _WORDS else FailureKind.OTHER


def failure_of(word: str) -> FailureKind:
    """The same, where a status cannot be."""
    kind = kind_of(word)
    return kind if isinstance(kind, FailureKind) else FailureKind.OTHER


def status_in(kind: Kind) -> int | None:
    """The status of a `status NNN`; None for every other kind."""
    found = _STATUS.fullmatch(kind)
    return None if found is None else int(found[1])


def family_of(kind: Kind) -> FailureFamily:
    status = status_in(kind)
    return _entry(kind).family if status is None else _family_of_status(status)


def description_of(kind: Kind) -> str:
    """What happened, for a person."""
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
