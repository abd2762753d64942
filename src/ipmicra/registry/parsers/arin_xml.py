"""ARIN's bulk WHOIS in XML (arin_db.xml) -> networks and organisations.

    <net><endAddress>192.000.002.255</endAddress><handle>NET-192-0-2-0-1</handle><netBlocks>...
    <org><handle>EXAMP</handle><iso3166-1><code2>US</code2>...</iso3166-1><name>Example</name>...

Invariant: no XML parser sees the file whole. One broken element would end its reading, and entities could be
made to explode; here every element is found by its tags and read by itself.
"""

from __future__ import annotations

import re
from html import unescape

from ipmicra.registry.parsers.accumulator import Accumulator
from ipmicra.registry.parsers.blocks import Block
from ipmicra.registry.parsers.normalisation import country_code, range_of
from ipmicra.registry.parsers.parse_statistics import Malformed

ELEMENTS = (b"net", b"org", b"poc", b"asn", b"customer")
SEPARATORS = tuple(b"</%s>" % element for element in ELEMENTS)
NET_TYPES = {  # netBlock's type -> status, as ARIN's text format words it
    b"A": b"reallocated",
    b"DA": b"direct allocation",
    b"DS": b"direct assignment",
    b"S": b"reassigned",
}
_TAG = re.compile(rb"<(/?)(net|org|poc|asn|customer)(?:\s[^<>]*)?>")
_INNER_PARTS = re.compile(rb"<(netBlocks|iso3166-[12])>.*?</\1>", re.DOTALL)  # have their own names
_DOCUMENT_TAGS = re.compile(rb"<[?!/]?[A-Za-z][^<>]*>|<!--.*?-->|^\xef\xbb\xbf", re.DOTALL)
_VALUE = re.compile(rb"<(startAddress|endAddress|orgHandle|handle|name|code2|type)>([^<>]*)</\1>")


class ArinXmlParser:
    """Reads blocks of one file into a gathering."""

    def __init__(self, gathering: Accumulator, file: str) -> None:
        self._gathering = gathering
        self._file = file

    def parse(self, block: Block) -> None:
        begun: re.Match[bytes] | None = None
        outside = 0  # where the text outside of elements goes on
        for tag in _TAG.finditer(block.text):
            closes, element = tag.groups()
            if begun is None:
                self._check_outside(block, outside, tag.start())
            outside = tag.end()
            if closes and begun is not None and begun[2] == element:
                self._read(element, block, begun.end(), tag.start())
                begun = None
                continue
            if closes or begun is not None:
                self._count_malformed("unclosed-element", block, (begun or tag).start())
            begun = None if closes else tag
        if begun is not None:
            self._count_malformed("unclosed-element", block, begun.start())
        else:
            self._check_outside(block, outside, len(block.text))

    def _check_outside(self, block: Block, begin: int, end: int) -> None:
        """Between elements there is nothing but the document's own tags."""
        between = block.text[begin:end]
        if between.strip() and _DOCUMENT_TAGS.sub(b"", between).strip():
            self._count_malformed("stray-text", block, begin)

    def _read(self, element: bytes, block: Block, begin: int, end: int) -> None:
        try:
            self._take(element, block.text[begin:end])
        except Malformed as malformed:
            self._count_malformed(malformed.kind, block, begin)

    def _count_malformed(self, kind: str, block: Block, place: int) -> None:
        line = block.line + block.text.count(b"\n", 0, place)
        excerpt = block.text[place : place + 200]
        self._gathering.tally.count_malformed(kind, self._file, line, excerpt)

    def _take(self, element: bytes, text: bytes) -> None:
        if element == b"net":
            self._take_network(_values(text))
        elif element == b"org":
            self._take_organisation(_values(text))
        else:
            self._gathering.tally.passed_over[element.decode()] += 1

    def _take_network(self, values: dict[bytes, bytes]) -> None:
        if b"startAddress" not in values or b"endAddress" not in values:
            raise Malformed("no-range")
        kind = values.get(b"type", b"")
        self._gathering.add(
            range_of(values[b"startAddress"] + b"-" + values[b"endAddress"]),
            handle=values.get(b"orgHandle", b""),
            name=values.get(b"name", b""),
            registry=b"arin",
            status=NET_TYPES.get(kind, kind.lower()),
        )

    def _take_organisation(self, values: dict[bytes, bytes]) -> None:
        handle = values.get(b"handle", b"")
        if not handle:
            raise Malformed("no-handle")
        country = country_code(values.get(b"code2", b""))
        self._gathering.add_organisation(handle, values.get(b"name", b""), country)


def _values(text: bytes) -> dict[bytes, bytes]:
    """The wanted elements inside; the outermost counts, and of several the first."""
    found = _VALUE.findall(_INNER_PARTS.sub(b"", text)) + _VALUE.findall(text)
    return {name: _plain(value) for name, value in reversed(found)}


def _plain(value: bytes) -> bytes:
    """Entities replaced, so that "AT&amp;T" is AT&T. Latin-1 carries any bytes through unharmed."""
    if b"&" not in value:
        return value.strip()
    return unescape(value.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape").strip()
