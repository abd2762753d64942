"""A block of RPSL -> the plain objects in it taken by arrays, and the others named.

Plain is an inetnum with a dotted range, an inet6num with a prefix, or an organisation with a handle, which
has a source and no continued lines: nearly all of them.

Invariant: as in `fields`: arrays only speed up the reading of one object (`keyed_objects`); an object
that is not plain is handed back, never judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ipmicra.addresses import Family
from ipmicra.registry.parsers.accumulator import Accumulator, RangeBounds
from ipmicra.registry.parsers.fields import Labels, Places, Truths
from ipmicra.registry.parsers.normalisation import country_code, registry_called, status_words
from ipmicra.registry.parsers.object_lines import BLANK, ObjectLines
from ipmicra.registry.parsers.prefixes import ipv6_blocks

DASH, SLASH = 45, 47
V4_RANGE, V6_RANGE, ORGANISATION = b"inetnum:", b"inet6num:", b"organisation:"


class Left(NamedTuple):
    """An object that is not plain: its text, and how many lines of the block stand before it."""

    text: bytes
    lines_before: int


class _Numbers(dict[bytes, int]):
    """Raw values -> numbers, worked out once for each different value."""

    def __init__(self, meaning: Callable[[bytes], int]) -> None:
        self._meaning = meaning

    def __missing__(self, raw: bytes) -> int:
        number = self[raw] = self._meaning(raw)
        return number


class PlainObjects:
    """Takes plain objects of one file into a gathering."""

    def __init__(self, gathering: Accumulator) -> None:
        word = gathering.words.number
        self._gathering = gathering
        self._countries = _Numbers(lambda raw: word(country_code(raw)))
        self._registries = _Numbers(lambda raw: word(registry_called(raw)))
        self._statuses = _Numbers(lambda raw: word(status_words(raw)))

    def take(self, text: bytes) -> Iterator[Left]:
        """Take what is plain, and hand back the rest in order."""
        objects = ObjectLines(text)
        ordinary = (objects.first_lines(b"source:") >= 0) & ~objects.continued()
        v4_line = objects.first_lines(V4_RANGE)
        v4_rows = np.flatnonzero(ordinary & (v4_line == objects.heads))
        v6_rows = np.flatnonzero(
            ordinary & (v4_line < 0) & (objects.first_lines(V6_RANGE) == objects.heads)
        )
        is_left = np.ones(len(objects.heads), np.bool_)
        is_left[self._take_networks(4, objects, v4_rows, *_v4_ranges(objects, v4_rows))] = False
        is_left[self._take_networks(6, objects, v6_rows, *_v6_prefixes(objects, v6_rows))] = False
        plain = self._plain_organisations(objects, ordinary & is_left)
        for row in np.flatnonzero(is_left).tolist():
            if row in plain:
                self._gathering.add_organisation(*plain[row])
            else:
                yield Left(objects.text_of(row), int(objects.heads[row]))

    def _take_networks(
        self, family: Family, objects: ObjectLines, rows: Places, bounds: RangeBounds, plain: Truths
    ) -> Places:
        """Take the networks whose range is plain, and say which these are."""
        taken = rows[plain]
        if not len(taken):
            return taken
        descriptions, netnames = objects.values(b"descr:", taken), objects.values(b"netname:", taken)
        names = [
            (description.lstrip(b" \t") or netname.lstrip(b" \t")).strip()
            for description, netname in zip(descriptions, netnames, strict=True)
        ]
        handles = [_handle(raw) if raw else raw for raw in objects.values(b"org:", taken)]
        labels = {
            "handle": self._gathering.handles.numbered(handles),
            "name": self._gathering.names.numbered(names),
            "country": _looked_up(self._countries, objects.values(b"country:", taken)),
            "registry": _looked_up(self._registries, objects.values(b"source:", taken)),
            "status": _looked_up(self._statuses, objects.values(b"status:", taken)),
        }
        self._gathering.add_columns(family, RangeBounds(*(column[plain] for column in bounds)), labels)
        return taken

    def _plain_organisations(
        self, objects: ObjectLines, ordinary: Truths
    ) -> dict[int, tuple[bytes, bytes, bytes]]:
        """Handle, name and country by row. The first of several that share a handle counts, so these are
        taken in their order among the objects that are left."""
        rows = np.flatnonzero(ordinary & (objects.first_lines(ORGANISATION) == objects.heads))
        handles = map(_handle, objects.values(ORGANISATION, rows))
        names = map(bytes.strip, objects.values(b"org-name:", rows))
        countries = map(country_code, objects.values(b"country:", rows))
        found = zip(handles, names, countries, strict=True)
        return {row: said for row, said in zip(rows.tolist(), found, strict=True) if said[0]}


def _v4_ranges(objects: ObjectLines, rows: Places) -> tuple[RangeBounds, Truths]:
    """First and last addresses, and which are written plainly: "192.0.2.0 - 192.0.2.255"."""
    letters = objects.lines.letters
    begin, end = objects.head_values(V4_RANGE, rows)
    dash = objects.next_places(DASH, begin)
    plain = dash < end
    dash = np.where(plain, dash, begin)
    first, is_first = objects.lines.ipv4(begin, dash - (letters[dash - 1] == BLANK))
    last, is_last = objects.lines.ipv4(dash + 1 + (letters[dash + 1] == BLANK), end)
    zero = np.zeros(len(first), np.uint64)
    return RangeBounds(zero, first, zero, last), plain & is_first & is_last & (first <= last)


def _v6_prefixes(objects: ObjectLines, rows: Places) -> tuple[RangeBounds, Truths]:
    """First and last addresses, and which are written plainly: "2001:db8::/32"."""
    begin, end = objects.head_values(V6_RANGE, rows)
    slash = objects.next_places(SLASH, begin)
    plain = slash < end
    slash = np.where(plain, slash, begin)
    high, low, is_address = objects.lines.ipv6(begin, slash)
    length, is_number = objects.lines.decimals(slash + 1, end, digits_max=3)
    bounds, fits = ipv6_blocks(high, low, length)
    return bounds, plain & is_address & is_number & fits


def _handle(raw: bytes) -> bytes:
    return raw.lstrip(b" \t").partition(b"#")[0].rstrip()


def _looked_up(numbers: _Numbers, raw: list[bytes]) -> Labels:
    return np.fromiter(map(numbers.__getitem__, raw), np.uint32, len(raw))
