"""A URL -> what a connection and a request line need of it, or a refusal.

Invariant: the URL is read the way browsers read it (WHATWG), so "http://0x7f000001/" is 127.0.0.1 here
and not a name that some resolver reads otherwise. Credentials in a URL are never sent.
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache
from typing import NamedTuple

import can_ada

from ipmicra.addresses import IPAddress
from ipmicra.model.failures import FailureKind
from ipmicra.model.fetches import FetchFailed

_DEFAULT_PORTS = {"http:": 80, "https:": 443}
URL_CHARACTERS_MAX = 16_384
# Most addresses: a site, and a path that no rule of URLs changes (no escapes, no queries, no dot segments).
_PLAIN = re.compile(r"(https?://[^/?#@\\\s]+)((?:/[A-Za-z0-9_~-][A-Za-z0-9_.~-]*)*/?)")


class HttpTarget(NamedTuple):
    """Where a request goes."""

    secure: bool
    name: str  # as in the Host header, without a port; IPv6 in brackets
    port: int
    resource: str  # path and query
    host_header: str
    origin: tuple[
        bool, str, int
    ]  # security, name and port: requests that share them may share a connection


@lru_cache(1_024)  # a request asks twice: where its site is, and when its turn has come
def target_of(url: str) -> HttpTarget | FetchFailed:
    if len(url) > URL_CHARACTERS_MAX:
        return FetchFailed(url=url[:200], kind=FailureKind.BAD_URL, detail="the URL is too long")
    plain = _PLAIN.fullmatch(url)
    if plain is None or not plain[2]:
        return _parsed(url)
    home = _parsed_site(plain[1])
    if isinstance(home, FetchFailed):
        return _parsed(url)
    return HttpTarget(home.secure, home.name, home.port, plain[2], home.host_header, home.origin)


@lru_cache(1_024)
def _parsed_site(site: str) -> HttpTarget | FetchFailed:
    return _parsed(f"{site}/")


def _parsed(url: str) -> HttpTarget | FetchFailed:
    try:
        parsed = can_ada.parse(url)
    except (ValueError, UnicodeEncodeError):
        return FetchFailed(url=url, kind=FailureKind.BAD_URL, detail="not a URL")
    scheme, name = parsed.protocol, parsed.hostname
    default_port = _DEFAULT_PORTS.get(scheme)
    if default_port is None or not name:
        return FetchFailed(url=url, kind=FailureKind.BAD_URL, detail=f"{scheme} is not http or https")
    port = int(parsed.port) if parsed.port else default_port
    secure, resource = scheme == "https:", parsed.pathname + parsed.search
    return HttpTarget(secure, name, port, resource, parsed.host, (secure, name, port))


def literal_address(name: str) -> IPAddress | None:
    """The address that a URL names outright; None where it names a site."""
    text = name.strip("[]")
    if not text or not (text[-1].isdigit() or ":" in text):
        return None
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
