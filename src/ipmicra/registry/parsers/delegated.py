"""Delegated and delegated-extended statistics of the registries -> networks.

    ripencc|FR|ipv4|2.0.0.0|1048576|20100712|allocated|d91963c1-e981-4483-bba3-eb5060e0bdb2
    registry|country|type|first|addresses, or prefix length|date|status|opaque handle (extended only)

The handle stands for an organisation of that registry and says nothing else about it. Free and
reserved space, AS numbers, the version line, summaries and remarks are passed over.

Invariant: `read_line` says what a line means; the arrays say the same for a block at a time, and hand back to
it every line that they find odd.
"""

from __future__ import annotations

import numpy as np

from ipmicra.addresses import AddressRange, Family
from ipmicra.registry.parsers.accumulator import Accumulator, RangeBounds
from ipmicra.registry.parsers.blocks import Block
from ipmicra.registry.parsers.fields import Fields, Labels, Truths
from ipmicra.registry.parsers.normalisation import (
    address_number,
    country_code,
    prefix_range,
    registry_called,
)
from ipmicra.registry.parsers.parse_statistics import Malformed
from ipmicra.registry.parsers.prefixes import ipv4_runs, ipv6_blocks

SEPARATORS = (b"\n",)
REGISTRY, COUNTRY, TYPE, FIRST, VALUE, _DATE, STATUS, HANDLE = range(8)
FIELDS_MIN = STATUS + 1  # without the handle: the older, plain form
DIGITS_MAX = 10
REGISTRIES = (b"ripencc", b"arin", b"apnic", b"lacnic", b"afrinic")
TAKEN, FREE = (b"allocated", b"assigned"), (b"available", b"reserved")
FREE_SPACE, AS_NUMBER = "free space", "AS number"


class DelegatedParser:
    """Reads blocks of one file into a gathering."""

    def __init__(self, gathering: Accumulator, file: str) -> None:
        self._gathering = gathering
        self._file = file

    def parse(self, block: Block) -> None:
        fields = Fields.of(block.text, b"|", HANDLE + 1)
        enough = fields.count >= FIELDS_MIN
        of_family: dict[Family, Truths] = {
            4: enough & fields.are(TYPE, b"ipv4"),
            6: enough & fields.are(TYPE, b"ipv6"),
        }
        about_as = enough & fields.are(TYPE, b"asn")
        free = (of_family[4] | of_family[6]) & _are_any(fields, STATUS, FREE)
        self._gathering.tally.passed_over[AS_NUMBER] += int(about_as.sum())
        self._gathering.tally.passed_over[FREE_SPACE] += int(free.sum())
        taken = _are_any(fields, STATUS, TAKEN)
        done = about_as | free
        for family, rows in of_family.items():
            done |= self._take_plain_lines(family, fields, rows & taken)
        for row in np.flatnonzero(~done).tolist():
            self.read_line(fields.line(row), block.line + row)

    def _take_plain_lines(self, family: Family, fields: Fields, chosen: Truths) -> Truths:
        """Take the plain ones of the chosen lines, and say which these are."""
        some = fields.rows(chosen)
        bounds, plain = _bounds(family, some)
        country, readable = some.countries(COUNTRY, self._gathering.words.number)
        plain &= readable
        registry = self._registries(some)
        plain &= registry != 0
        taken = chosen.copy()
        taken[chosen] = plain
        some = some.rows(plain)
        labels = {
            "handle": self._gathering.handles.numbered(some.texts(HANDLE)),
            "country": country[plain],
            "registry": registry[plain],
            "status": self._statuses(some),
        }
        self._gathering.add_columns(family, RangeBounds(*(column[plain] for column in bounds)), labels)
        return taken

    def _registries(self, fields: Fields) -> Labels:
        """The registries' numbers, 0 where it is none of the five; a file is of one registry as a rule."""
        labels = np.zeros(len(fields.count), np.uint32)
        for registry in REGISTRIES:
            if labels.all():
                break
            labels[fields.are(REGISTRY, registry)] = self._gathering.words.number(registry)
        return labels

    def _statuses(self, fields: Fields) -> Labels:
        first, second = (np.uint32(self._gathering.words.number(status)) for status in TAKEN)
        return np.where(fields.are(STATUS, TAKEN[0]), first, second)

    def read_line(self, line: bytes, number: int) -> None:
        try:
            self._take_line(line)
        except Malformed as malformed:
            self._gathering.tally.count_malformed(malformed.kind, self._file, number, line)

    def _take_line(self, line: bytes) -> None:
        fields = [field.strip() for field in line.split(b"|")]
        aside = _passed_over(fields)
        if aside is not None:
            self._gathering.tally.passed_over[aside] += 1
            return
        self._gathering.add(
            _range(fields[TYPE], fields[FIRST], fields[VALUE]),
            handle=fields[HANDLE] if len(fields) > HANDLE else b"",
            country=country_code(fields[COUNTRY]),
            registry=registry_called(fields[REGISTRY]),
            status=fields[STATUS].lower(),
        )


def _are_any(fields: Fields, field: int, words: tuple[bytes, bytes]) -> Truths:
    return fields.are(field, words[0]) | fields.are(field, words[1])


def _bounds(family: Family, fields: Fields) -> tuple[RangeBounds, Truths]:
    value, is_number = fields.decimals(fields.begin[VALUE], fields.end[VALUE], DIGITS_MAX)
    if family == 4:
        first, is_address = fields.ipv4(fields.begin[FIRST], fields.end[FIRST])
        bounds, fits = ipv4_runs(first, value)
    else:
        high, low, is_address = fields.ipv6(fields.begin[FIRST], fields.end[FIRST])
        bounds, fits = ipv6_blocks(high, low, value)
    return bounds, is_number & is_address & fits


def _passed_over(fields: list[bytes]) -> str | None:
    """The kind of a line that is not an allocation."""
    if fields[0].startswith(b"#") or fields == [b""]:
        return "remark"
    if fields[-1].lower() == b"summary":
        return "summary"
    if fields[0].replace(b".", b"").isdigit() and len(fields) >= FIELDS_MIN:
        return "version line"
    if len(fields) < FIELDS_MIN:
        raise Malformed("wrong-field-count")
    if fields[TYPE].lower() == b"asn":
        return AS_NUMBER
    if fields[TYPE].lower() not in (b"ipv4", b"ipv6"):
        raise Malformed("unknown-type")
    if fields[STATUS].lower() in FREE:
        return FREE_SPACE
    if fields[STATUS].lower() not in TAKEN:
        raise Malformed("unknown-status")
    return None


def _range(kind: bytes, first_text: bytes, value: bytes) -> AddressRange:
    family, first = address_number(first_text.decode("latin-1"))
    if family != (4 if kind.lower() == b"ipv4" else 6):
        raise Malformed("bad-address")
    if family == 6:
        return prefix_range(6, first, value.decode("latin-1"))
    if not value.isdigit() or len(value) > DIGITS_MAX:
        raise Malformed("bad-count")
    if not 0 < int(value) <= AddressRange.whole(4).end - first:
        raise Malformed("bad-count")
    return AddressRange(4, first, first + int(value))
