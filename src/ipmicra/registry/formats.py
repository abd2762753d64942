"""The first bytes of a file, and its name -> its format and its parser.

Invariant: contents decide; the name only separates formats that look alike. An unknown format is None,
never a guess.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from ipmicra.registry.parsers import arin_xml, delegated, keyed_objects, routed
from ipmicra.registry.parsers.accumulator import Accumulator
from ipmicra.registry.parsers.blocks import Block


class Parser(Protocol):
    """Takes what it finds in a block into its gathering."""

    def parse(self, block: Block, /) -> None: ...


@dataclass(frozen=True)
class Format:
    """A way to write allocations down. Formats with less `doubt` are read, and so believed, first."""

    name: str
    doubt: int
    separators: tuple[bytes, ...]
    parser: Callable[[Accumulator, str], Parser]


def _keyed(name: str, dialect: keyed_objects.Dialect) -> Format:
    def parser(gathering: Accumulator, file: str) -> Parser:
        return keyed_objects.KeyedParser(dialect, gathering, file)

    return Format(name, 0, keyed_objects.SEPARATORS, parser)


RPSL = _keyed("RPSL database", keyed_objects.RPSL)
ARIN_TEXT = _keyed("ARIN bulk WHOIS (text)", keyed_objects.ARIN)
LACNIC = _keyed("LACNIC bulk WHOIS", keyed_objects.LACNIC)
ARIN_XML = Format("ARIN bulk WHOIS (XML)", 0, arin_xml.SEPARATORS, arin_xml.ArinXmlParser)
DELEGATED = Format("delegated statistics", 1, delegated.SEPARATORS, delegated.DelegatedParser)
LIBLOC_NETWORKS = Format("IPFire networks", 2, routed.SEPARATORS, routed.NetworksParser)
LIBLOC_ASES = Format("IPFire AS names", 2, routed.SEPARATORS, routed.AsNamesParser)
AS_RANGES = Format("ip-location-db AS ranges", 3, routed.SEPARATORS, routed.AsRangesParser)

FORMATS = (
    RPSL,
    ARIN_TEXT,
    ARIN_XML,
    LACNIC,
    DELEGATED,
    LIBLOC_NETWORKS,
    LIBLOC_ASES,
    AS_RANGES,
)

# Tried in order on the first bytes; each looks for a line that only its format has.
_SIGNS: tuple[tuple[re.Pattern[bytes], Format], ...] = tuple(
    (re.compile(pattern, re.MULTILINE | re.IGNORECASE), form)
    for pattern, form in (
        (rb"<bulkwhois|<(net|org|poc|asn)[ >][^|]*<(handle|startAddress|endAddress|comment)>", ARIN_XML),
        (rb"^(2|2\.\d)\|[a-z]+\||^[a-z]+\|[A-Z*]{0,2}\|(ipv4|ipv6|asn)\|", DELEGATED),
        (rb"^(NetHandle|V6NetHandle|NetRange|OrgID|OrgName|ASHandle|POCHandle):", ARIN_TEXT),
        (rb"^(ownerid|owner|inetnum-up):", LACNIC),
        (rb"^(inetnum|inet6num|organisation|as-block|aut-num|person|role|mntner|route6?|domain):", RPSL),
        (rb"^[0-9a-f.:]+/\d{1,3}\t\d*\t", LIBLOC_NETWORKS),
        (rb"^[0-9a-f.:]+,[0-9a-f.:]+,\d*,", AS_RANGES),
        (rb"\A(#[^\n]*\n)*\d+\t[^\t\n]*\n", LIBLOC_ASES),
    )
)

# For files that begin oddly, say with a very long remark.
_NAMES: tuple[tuple[re.Pattern[str], Format], ...] = (
    (re.compile(r"^delegated-"), DELEGATED),
    (re.compile(r"^(ripe|apnic|afrinic)[-.]db"), RPSL),
    (re.compile(r"^apnic\.RPSL"), RPSL),
    (re.compile(r"^arin_db\.txt"), ARIN_TEXT),
    (re.compile(r"^arin_db\.xml"), ARIN_XML),
    (re.compile(r"^lacnic[-.]db"), LACNIC),
)


def format_of(head: bytes, name: str) -> Format | None:
    """The format of a file that begins like this, or None."""
    head = head.replace(b"\r\n", b"\n")
    by_contents = (form for sign, form in _SIGNS if sign.search(head))
    by_name = (form for sign, form in _NAMES if sign.search(name))
    return next(by_contents, None) or next(by_name, None)
