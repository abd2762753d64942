"""Raw field bytes -> the plain values an allocation carries: countries, registries, ranges, names.

Invariant: a field of doubtful use (country, registry, name) is unknown when it cannot be read; only the range
can make a record malformed, since without it there is nothing to hang the rest on.
"""

from __future__ import annotations

from functools import lru_cache
from socket import AF_INET, AF_INET6, inet_pton

from ipmicra.addresses import BITS, AddressRange, Family
from ipmicra.registry.parsers.parse_statistics import Malformed

UNKNOWN = b""

# How each registry calls itself in its own files -> its one name here.
_REGISTRIES = {
    b"afrinic": b"afrinic",
    b"apnic": b"apnic",
    b"arin": b"arin",
    b"iana": b"iana",
    b"lacnic": b"lacnic",
    b"ripe": b"ripencc",
    b"ripencc": b"ripencc",
    b"ripe-ncc": b"ripencc",
    b"ripe-nonauth": b"ripencc",
}


@lru_cache(maxsize=1024)
def registry_called(source: bytes) -> bytes:
    """ "RIPE # Filtered" -> "ripencc"; unknown sources are unknown registries."""
    words = source.split(None, 1)
    return _REGISTRIES.get(words[0].lower(), UNKNOWN) if words else UNKNOWN


@lru_cache(maxsize=4096)
def country_code(raw: bytes) -> bytes:
    """Two letters in upper case, else unknown; ZZ is the registries' way to say unknown."""
    code = raw.partition(b"#")[0].strip()
    if len(code) != 2 or not code.isalpha() or code.upper() == b"ZZ":
        return UNKNOWN
    return code.upper()


def plain_text(raw: bytes) -> str:
    """UTF-8 where it is that, else Latin-1, which any bytes are; white space becomes single blanks."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    return " ".join(text.split())


@lru_cache(maxsize=1024)
def status_words(raw: bytes) -> bytes:
    """ "ASSIGNED PA # note" -> "assigned pa"."""
    return b" ".join(raw.partition(b"#")[0].lower().split())


def range_of(raw: bytes) -> AddressRange:
    """A range in any of the ways: "a - b", "prefix/length", short forms, zero-padded octets."""
    text = raw.partition(b"#")[0].decode("latin-1")
    first_text, dash, last_text = text.partition("-")
    if dash:
        family, first = address_number(first_text.strip())
        last_family, last = address_number(last_text.strip())
        if family != last_family or last < first:
            raise Malformed("reversed-range")
        return AddressRange(family, first, last + 1)
    address_text, slash, length_text = text.partition("/")
    if not slash:
        raise Malformed("bad-prefix-length")
    family, first = address_number(address_text.strip(), short_forms=True)
    return prefix_range(family, first, length_text.strip())


def prefix_range(family: Family, first: int, length_text: str) -> AddressRange:
    """The range of a CIDR block whose first address is known."""
    if not (length_text.isascii() and length_text.isdigit() and len(length_text) <= 3):
        raise Malformed("bad-prefix-length")
    free_bits = BITS[family] - int(length_text)
    if free_bits < 0:
        raise Malformed("bad-prefix-length")
    if first & ((1 << free_bits) - 1):
        raise Malformed("host-bits")
    return AddressRange(family, first, first + (1 << free_bits))


def address_number(text: str, short_forms: bool = False) -> tuple[Family, int]:
    """The family and number of an address; short forms such as "200.1" only before a prefix length."""
    try:
        if ":" in text:
            return 6, int.from_bytes(inet_pton(AF_INET6, text), "big")
        return 4, int.from_bytes(inet_pton(AF_INET, text), "big")
    except (OSError, ValueError):
        return 4, _loose_ipv4(text, octets_min=1 if short_forms else 4)


def _loose_ipv4(text: str, octets_min: int) -> int:
    """LACNIC's "200.1" for 200.1.0.0, ARIN's "192.000.002.001": octets are decimal, zeros or not."""
    octets = text.split(".")
    digits_only = all(octet.isascii() and octet.isdigit() and len(octet) <= 3 for octet in octets)
    if not digits_only or not octets_min <= len(octets) <= 4:
        raise Malformed("bad-address")
    values = [int(octet) for octet in octets] + [0] * (4 - len(octets))
    if max(values) > 255:
        raise Malformed("bad-address")
    return int.from_bytes(bytes(values), "big")
