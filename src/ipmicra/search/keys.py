"""URLs -> the site they are on, and small keys for both: small keys make small indexes. Pure."""

from __future__ import annotations

import hashlib


def text_key(text: str) -> int:
    """63 bits of a URL or a site's name."""
    digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def site_name_of(url: str) -> str:
    """The site's name, without port."""
    authority = url.partition("//")[2].partition("/")[0]
    if "?" in authority or "@" in authority or ":" in authority:
        authority = authority.partition("?")[0].rpartition("@")[2]
        is_address = authority.startswith("[")
        authority = authority.partition("]")[0] + "]" if is_address else authority.partition(":")[0]
    return authority.lower()


def origin_of(url: str) -> str:
    """The site's name with its port, where the address has one."""
    authority = url.partition("//")[2].partition("/")[0].partition("?")[0]
    return authority.rpartition("@")[2].lower()


def names_of(site: str) -> list[str]:
    """A site's name and those it lies under: `site:example.org` finds docs.example.org."""
    if site.startswith("[") or site.replace(".", "").isdigit():
        return [site]
    labels = site.split(".")
    return [".".join(labels[start:]) for start in range(len(labels))]
