"""Routing data -> networks: IPFire's location database (dumped), ip-location-db's AS lists.

    networks.tsv   1.0.0.0/24 <TAB> 13335 <TAB> AU              prefix, AS number, country
    ases.tsv       13335 <TAB> CLOUDFLARENET                    AS number, name
    asn-ipv4.csv   1.0.0.0,1.0.0.255,13335,"Cloudflare, Inc."   first, last, AS number, name

The organisation of such a network is its AS: the handle is "AS13335". No registry states it, so the
registry is unknown and these files are trusted last.

Invariant: as in `delegated`: `_take_line` says what a line means, arrays are the speed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from ipmicra.addresses import Family
from ipmicra.registry.parsers.accumulator import Accumulator, RangeBounds
from ipmicra.registry.parsers.blocks import Block
from ipmicra.registry.parsers.fields import Fields, Labels, Numbers, Truths
from ipmicra.registry.parsers.normalisation import country_code, range_of
from ipmicra.registry.parsers.parse_statistics import Malformed
from ipmicra.registry.parsers.prefixes import ipv4_blocks, ipv6_blocks

SEPARATORS = (b"\n",)
COLON = 58
LETTERS_BEFORE_COLON_MAX = 4
DIGITS_MAX = 10
AS_NUMBER_MAX = (1 << 32) - 1
FAMILIES: tuple[Family, Family] = (4, 6)


class RoutedParser(ABC):
    """Reads blocks of one file into a gathering: by arrays what is plain, line by line what is odd."""

    def __init__(self, gathering: Accumulator, file: str) -> None:
        self._gathering = gathering
        self._file = file

    def parse(self, block: Block) -> None:
        fields = self._fields(block.text)
        done = np.zeros(len(fields.count), np.bool_)
        for family in FAMILIES:
            done |= self._take_plain_lines(family, fields)
        for row in np.flatnonzero(~done).tolist():
            line = block.text[int(fields.line_begin[row]) : int(fields.line_end[row])]
            self.read_line(line, block.line + row)

    def read_line(self, line: bytes, number: int) -> None:
        if not line.strip() or line.startswith(b"#"):
            self._gathering.tally.passed_over["remark"] += 1
            return
        try:
            self._take_line(line)
        except Malformed as malformed:
            self._gathering.tally.count_malformed(malformed.kind, self._file, number, line)

    @abstractmethod
    def _fields(self, text: bytes) -> Fields:
        """The block cut so that every field is one value."""

    @abstractmethod
    def _take_plain_lines(self, family: Family, fields: Fields) -> Truths:
        """Take the plain lines of a family, and say which these are."""

    @abstractmethod
    def _take_line(self, line: bytes) -> None:
        """Take one line, or say what is wrong with it."""

    def _take_columns(
        self, family: Family, bounds: RangeBounds, asn: Labels, other: dict[str, Labels]
    ) -> None:
        known, place = np.unique(asn, return_inverse=True)
        handles = self._gathering.handles.numbered([as_handle(number) for number in known.tolist()])
        labels = {"asn": asn, "handle": handles[place], **other}
        self._gathering.add_columns(family, bounds, labels)


class NetworksParser(RoutedParser):
    """networks.tsv of IPFire's location database."""

    def _fields(self, text: bytes) -> Fields:
        return Fields.of(text.replace(b"/", b"\t"), b"\t", 4)

    def _take_plain_lines(self, family: Family, fields: Fields) -> Truths:
        chosen = (fields.count == 4) & _is_of(family, fields)
        some = fields.rows(chosen)
        bounds, plain = _prefixes(family, some)
        asn, is_asn = _as_numbers(some, 2)
        country, is_country = some.countries(3, self._gathering.words.number)
        plain &= is_asn & is_country
        self._take_columns(family, _only(bounds, plain), asn[plain], {"country": country[plain]})
        return _among(chosen, plain)

    def _take_line(self, line: bytes) -> None:
        fields = line.split(b"\t")
        if len(fields) < 3:
            raise Malformed("wrong-field-count")
        asn = _as_number(fields[1])
        place = range_of(fields[0])
        self._gathering.add(place, as_handle(asn), country=country_code(fields[2]), asn=asn)


class AsRangesParser(RoutedParser):
    """asn-ipv4.csv and asn-ipv6.csv of ip-location-db."""

    def _fields(self, text: bytes) -> Fields:
        return Fields.of(text, b",", 4, rest=True)

    def _take_plain_lines(self, family: Family, fields: Fields) -> Truths:
        chosen = (fields.count >= 4) & _is_of(family, fields)
        some = fields.rows(chosen)
        bounds, plain = _ranges(family, some)
        asn, is_asn = _as_numbers(some, 2)
        plain &= is_asn
        names = [_unquoted(name) for name in some.rows(plain).texts(3)]
        labels = {"name": self._gathering.names.numbered(names)}
        self._take_columns(family, _only(bounds, plain), asn[plain], labels)
        return _among(chosen, plain)

    def _take_line(self, line: bytes) -> None:
        fields = line.split(b",", 3)
        if len(fields) < 4:
            raise Malformed("wrong-field-count")
        asn = _as_number(fields[2])
        place = range_of(b"-".join(fields[:2]))
        self._gathering.add(place, as_handle(asn), _unquoted(fields[3]), asn=asn)


class AsNamesParser(RoutedParser):
    """ases.tsv of IPFire's location database; too few lines for arrays."""

    def _fields(self, text: bytes) -> Fields:
        return Fields.of(text, b"\t", 2, rest=True)

    def _take_plain_lines(self, family: Family, fields: Fields) -> Truths:
        return np.zeros(len(fields.count), np.bool_)

    def _take_line(self, line: bytes) -> None:
        number, tab, name = line.partition(b"\t")
        if not tab:
            raise Malformed("wrong-field-count")
        asn = _as_number(number)
        if not asn:
            raise Malformed("no-handle")
        self._gathering.add_organisation(as_handle(asn), name.strip(), b"")


def as_handle(asn: int) -> bytes:
    """How an AS is called where organisations have handles; nothing for no AS."""
    return b"AS%d" % asn if asn else b""


def _as_number(raw: bytes) -> int:
    digits = raw.strip()
    if not digits:
        return 0
    if not digits.isdigit() or len(digits) > DIGITS_MAX or int(digits) > AS_NUMBER_MAX:
        raise Malformed("bad-as-number")
    return int(digits)


def _as_numbers(fields: Fields, field: int) -> tuple[Labels, Truths]:
    begin, end = fields.begin[field], fields.end[field]
    value, ok = fields.decimals(begin, end, DIGITS_MAX)
    return value.astype(np.uint32), (ok & (value <= AS_NUMBER_MAX)) | (begin == end)


def _unquoted(field: bytes) -> bytes:
    if len(field) >= 2 and field[:1] == b'"' == field[-1:]:
        return field[1:-1].replace(b'""', b'"').strip()
    return field.strip()


def _is_of(family: Family, fields: Fields) -> Truths:
    """Whether the first field looks like an address of the family: only IPv6 has an early colon."""
    begin = fields.begin[0]
    has_colon = np.zeros(len(begin), np.bool_)
    for place in range(LETTERS_BEFORE_COLON_MAX + 1):
        has_colon |= fields.letters[begin + place] == COLON
    return has_colon if family == 6 else ~has_colon


def _addresses(family: Family, fields: Fields, field: int) -> tuple[Numbers, Numbers, Truths]:
    begin, end = fields.begin[field], fields.end[field]
    if family == 4:
        low, ok = fields.ipv4(begin, end)
        return np.zeros(len(low), np.uint64), low, ok
    return fields.ipv6(begin, end)


def _prefixes(family: Family, fields: Fields) -> tuple[RangeBounds, Truths]:
    high, low, is_address = _addresses(family, fields, 0)
    length, is_number = fields.decimals(fields.begin[1], fields.end[1], digits_max=3)
    bounds, fits = ipv4_blocks(low, length) if family == 4 else ipv6_blocks(high, low, length)
    return bounds, is_address & is_number & fits


def _ranges(family: Family, fields: Fields) -> tuple[RangeBounds, Truths]:
    first_high, first_low, is_first = _addresses(family, fields, 0)
    last_high, last_low, is_last = _addresses(family, fields, 1)
    in_order = (first_high < last_high) | ((first_high == last_high) & (first_low <= last_low))
    return RangeBounds(first_high, first_low, last_high, last_low), is_first & is_last & in_order


def _only(bounds: RangeBounds, rows: Truths) -> RangeBounds:
    return RangeBounds(*(column[rows] for column in bounds))


def _among(chosen: Truths, plain: Truths) -> Truths:
    """The lines that are chosen and plain, among all; `plain` covers the chosen ones only."""
    both = chosen.copy()
    both[chosen] = plain
    return both
