"""Text that claims to be a URL -> one normal form, its site, and the key it is known by.

Two texts that name the same page by the WHATWG URL standard and RFC 3986 (6.2.2) get the same normal
form, and so the same key. Invariant: normalising twice changes nothing; a `Url` is always normal,
absolute, http or https, and carries neither fragment nor credentials.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NewType

import can_ada

Url = NewType("Url", str)
Site = NewType("Site", str)  # "https://example.org": robots.txt is per scheme, name and port
UrlKey = NewType("UrlKey", int)  # signed 64 bits: what SQLite calls an INTEGER PRIMARY KEY

# Parameters that say where a click came from and never choose what is shown. A trailing * is a prefix.
TRACKING_PARAMETERS = (
    *("utm_*", "mc_cid", "mc_eid", "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "fbclid", "msclkid"),
    *(
        "yclid",
        "igshid",
        "twclid",
        "ttclid",
        "li_fat_id",
        "_hsenc",
        "_hsmi",
        "oly_anon_id",
        "oly_enc_id",
    ),
)

_PERCENT_ENCODED = re.compile("%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


class Normaliser:
    """Normal forms, with the tracking parameters that an operator wants dropped."""

    def __init__(self, dropped_parameters: Iterable[str] = TRACKING_PARAMETERS) -> None:
        names = list(dropped_parameters)
        self._dropped = frozenset(name for name in names if not name.endswith("*"))
        self._dropped_prefixes = tuple(name[:-1] for name in names if name.endswith("*"))

    def url(self, text: str) -> Url | None:
        """The normal form; None for what is not a web page's address."""
        try:
            parsed = can_ada.parse(text)
        except (ValueError, UnicodeError):
            return None
        return self._normal(parsed)

    def link(self, text: str) -> Url | None:
        """The normal form of a link that a page's extraction has made absolute by the WHATWG's rules.

        Most of them are in their normal form; only escapes, queries and credentials may have to change.
        """
        return self.url(text) if "%" in text or "?" in text or "@" in text else Url(text)

    def joined(self, page: Url, reference: str) -> Url | None:
        """The normal form of what `reference` means on `page`."""
        try:
            return self._normal(can_ada.parse(page) + reference)
        except (ValueError, UnicodeError):
            return None

    def _normal(self, parsed: can_ada.URL) -> Url | None:
        if parsed.protocol not in {"http:", "https:"} or not parsed.hostname:
            return None
        if parsed.has_credentials():
            parsed.username = parsed.password = ""
        text = parsed.href.partition("#")[0]
        if "%" in text:
            text = _PERCENT_ENCODED.sub(_decoded_or_upper, text)
        path, question_mark, query = text.partition("?")
        if not question_mark:
            return Url(path)
        kept = [part for part in query.split("&") if part and not self._is_dropped(part)]
        return Url(f"{path}?{'&'.join(kept)}" if kept else path)

    def _is_dropped(self, parameter: str) -> bool:
        name = parameter.partition("=")[0].lower()
        return name in self._dropped or name.startswith(self._dropped_prefixes or ("\0",))


def site_of(url: Url) -> Site:
    """The site that serves the page."""
    return Site(url[: url.index("/", 8)])


def path_of(url: Url) -> str:
    """The part after the site: path and query."""
    return url[url.index("/", 8) :]


def url_at(site: Site, path: str) -> Url:
    return Url(site + path)


def name_of(site: Site) -> str:
    """The site's name alone: neither scheme nor port."""
    authority = site.partition("://")[2]
    if authority.startswith("["):
        return authority[1 : authority.index("]")]
    return authority.partition(":")[0]


def port_of(site: Site) -> int:
    scheme, _, authority = site.partition("://")
    _, colon, port = authority.rpartition("]")[2].partition(":")
    if colon:
        return int(port)
    return 443 if scheme == "https" else 80


def key_of(url: Url) -> UrlKey:
    """64 bits: 8 of the site, so that a site's keys stand together in a table, and 56 of the URL.

    Among 10 million URLs of many sites two share a key with a chance of 3 in a million; if all are of one
    site, of 7 in ten thousand.
    """
    digest = hashlib.blake2b(url.encode(), digest_size=7).digest()
    return UrlKey(int.from_bytes(_site_byte(site_of(url)) + digest, "big", signed=True))


@lru_cache(4_096)
def _site_byte(site: Site) -> bytes:
    return hashlib.blake2b(site.encode(), digest_size=1).digest()


def _decoded_or_upper(match: re.Match[str]) -> str:
    character = chr(int(match[1], 16))
    return character if character in _UNRESERVED else match[0].upper()
