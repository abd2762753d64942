"""A crawler's word for why a visit failed -> its kind, whose it is to mend, and what to do about it.

Law: pure. A word comes from a crawler, so it may be anything: it becomes one of the kinds told here, or a
status of three figures, or `OTHER`.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import NamedTuple

OTHER = "other"
TURNED_AWAY = frozenset({401, 402, 403, 406, 407, 429, 451})
_STATUS = re.compile(r"status ([1-9][0-9]{2})", re.ASCII)


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
_LEFT_ALONE = FailureFamily(
    "left-alone",
    "Pages that were left alone",
    "nobody's",
    "As it should be: robots.txt forbids them, or they are pictures, archives and other things that are no "
    "pages.",
)

_KINDS: dict[str, tuple[FailureFamily, str]] = {
    "dns_no_name": (_NAMES, "the name does not exist, or has no address"),
    "dns_failed": (_NAMES, "name servers gave no usable answer"),
    "connect": (_CONNECTING, "refused or unreachable"),
    "connect_timeout": (_CONNECTING, "nobody answered the connection"),
    "reset": (_CONNECTING, "closed before the answer was complete"),
    "tls": (_ENCRYPTION, "no encrypted connection"),
    "silent": (_SLOW, "connected, but no first byte in time"),
    "too_slow": (_SLOW, "slower than the slowest that is put up with"),
    "too_long": (_SLOW, "not finished in time"),
    "robots_unreachable": (_ROBOTS, "robots.txt was not answered"),
    "bad_http": (_BROKEN, "not HTTP, or against its rules"),
    "headers_too_large": (_BROKEN, "headers too large"),
    "bad_encoding": (_BROKEN, "the body does not inflate"),
    "inflate_bomb": (_BROKEN, "the body inflates absurdly"),
    "bad_redirect": (_REDIRECTS, "to something that is no address"),
    "redirect_loop": (_REDIRECTS, "in a circle"),
    "redirects_too_many": (_REDIRECTS, "too many, one after the other"),
    "redirect_refused": (_REDIRECTS, "to where crawlers do not go"),
    "bad_url": (_OUT_OF_BOUNDS, "no address of the web"),
    "refused_port": (_OUT_OF_BOUNDS, "a port of another service"),
    "refused_address": (_OUT_OF_BOUNDS, "an address that is not public"),
    "no_network": (_HOST, "no route, or no sockets left"),
    "closed": (_OURS, "the crawler was stopped meanwhile"),
    OTHER: (_OURS, "a kind that is not known here"),
    "robots": (_LEFT_ALONE, "robots.txt forbids it"),
    "not_a_page": (_LEFT_ALONE, "not a page"),
}  # fmt: skip


def kind_of(word: str) -> str:
    """The kind that a failure is counted as."""
    return word if word in _KINDS or _STATUS.fullmatch(word) else OTHER


def family_of(kind: str) -> FailureFamily:
    status = _STATUS.fullmatch(kind)
    return _KINDS[kind][0] if status is None else _family_of_status(int(status[1]))


def in_words(kind: str) -> str:
    """What happened, for a person."""
    status = _STATUS.fullmatch(kind)
    if status is None:
        return _KINDS[kind][1]
    try:
        return f"{status[1]} {HTTPStatus(int(status[1])).phrase}"
    except ValueError:
        return f"status {status[1]}"


def _family_of_status(status: int) -> FailureFamily:
    if status in TURNED_AWAY:
        return _TURNED_AWAY
    return {4: _REFUSED, 5: _SERVER}.get(status // 100, _ODD)
