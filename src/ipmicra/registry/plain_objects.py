"""A block of RPSL -> the plain inetnum objects in it taken by arrays, and the others named.

Plain is an inetnum with a dotted range, a source, and no continued lines: nearly all of them.

Law: as in `fields`: arrays only speed up what the reading of one object (`keyed`) would say; whatever is
not plain is handed back, never judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ipmicra.registry.fields import Fields, Labels, Places, Truths
from ipmicra.registry.gathering import Bounds, Gathering
from ipmicra.registry.texts import country_code, registry_called, status_words

BLANKS_MAX = 16  # RPSL dumps align values in the 17th column
BLANK, TAB, PLUS, DASH = 32, 9, 43, 45
RANGE_NAME = b"inetnum:"


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

    def __init__(self, gathering: Gathering) -> None:
        word = gathering.words.number
        self._gathering = gathering
        self._countries = _Numbers(lambda raw: word(country_code(raw)))
        self._registries = _Numbers(lambda raw: word(registry_called(raw)))
        self._statuses = _Numbers(lambda raw: word(status_words(raw)))

    def take(self, text: bytes) -> Iterator[Left]:
        """Take what is plain, and hand back the rest in order."""
        objects = _Objects(Fields.of(text, RANGE_NAME, 1))
        bounds, plain = objects.ranges()
        self._add(objects, bounds, plain)
        lines = objects.lines
        for number in np.flatnonzero(~plain).tolist():
            head, tail = objects.heads[number], objects.tails[number]
            begin, end = int(lines.line_begin[head]), int(lines.line_end[tail])
            yield Left(text[begin:end], int(head))

    def _add(self, objects: _Objects, bounds: Bounds, plain: Truths) -> None:
        descriptions, netnames = objects.values(b"descr:", plain), objects.values(b"netname:", plain)
        names = [
            (description.lstrip(b" \t") or netname.lstrip(b" \t")).strip()
            for description, netname in zip(descriptions, netnames, strict=True)
        ]
        handles = [
            raw.lstrip(b" \t").partition(b"#")[0].rstrip() if raw else raw
            for raw in objects.values(b"org:", plain)
        ]
        labels = {
            "handle": self._gathering.handles.numbered(handles),
            "name": self._gathering.names.numbered(names),
            "country": _looked_up(self._countries, objects.values(b"country:", plain)),
            "registry": _looked_up(self._registries, objects.values(b"source:", plain)),
            "status": _looked_up(self._statuses, objects.values(b"status:", plain)),
        }
        self._gathering.add_columns(4, Bounds(*(column[plain] for column in bounds)), labels)


class _Objects:
    """Where the objects of a block and their attributes stand. Objects are divided by empty lines."""

    def __init__(self, lines: Fields) -> None:
        self.lines = lines
        filled = lines.line_begin != lines.line_end
        before, after = np.roll(filled, 1), np.roll(filled, -1)
        before[:1] = after[-1:] = False
        self.heads = np.flatnonzero(filled & ~before)
        self.tails = np.flatnonzero(filled & ~after)
        self._object_of_line = np.cumsum(filled & ~before) - 1
        self._filled = filled
        # The first eight letters of each line as one number; the padding lets the last line be short.
        eights = np.ndarray((len(lines.text) + 1,), "<u8", lines.letters.data, 0, (1,))
        self._begins_with = eights[lines.line_begin]

    def ranges(self) -> tuple[Bounds, Truths]:
        """First and last addresses, and which objects are plain."""
        letters, begin = self.lines.letters, self.lines.line_begin[self.heads]
        end = self.lines.line_end[self.heads]
        plain = self._first_lines(RANGE_NAME) == self.heads
        plain &= (self._first_lines(b"source:") >= 0) & ~self._continued()
        dashes = np.append(np.flatnonzero(letters == DASH), len(letters) - 1)
        dash = dashes[np.searchsorted(dashes, begin)]
        plain &= dash < end
        dash = np.where(plain, dash, begin + 1)
        first_end = dash - (letters[dash - 1] == BLANK)
        last_begin = dash + 1 + (letters[dash + 1] == BLANK)
        first, is_first = self.lines.ipv4(self._behind_blanks(begin + len(RANGE_NAME)), first_end)
        last, is_last = self.lines.ipv4(last_begin, end)
        zero = np.zeros(len(first), np.uint64)
        return Bounds(zero, first, zero, last), plain & is_first & is_last & (first <= last)

    def values(self, name: bytes, plain: Truths) -> list[bytes]:
        """What stands behind the first line of this name, for each plain object; nothing if it has none."""
        line = self._first_lines(name)[plain]
        begin = np.where(line >= 0, self.lines.line_begin[line] + len(name), 0)
        end = np.where(line >= 0, self.lines.line_end[line], 0)
        text = self.lines.text
        return [text[left:right] for left, right in zip(begin.tolist(), end.tolist(), strict=True)]

    def _first_lines(self, name: bytes) -> Places:
        """For each object its first line that begins with the name (of at most 8 letters), or -1."""
        mask = np.uint64((1 << 8 * len(name)) - 1)
        wanted = np.uint64(int.from_bytes(name, "little"))
        found = np.flatnonzero((self._begins_with & mask) == wanted)[::-1]
        first = np.full(len(self.heads), -1, np.int64)
        first[self._object_of_line[found]] = found
        return first

    def _continued(self) -> Truths:
        """Which objects have a line that continues the one above."""
        letter = self._begins_with & np.uint64(0xFF)
        lines = self._filled & ((letter == BLANK) | (letter == TAB) | (letter == PLUS))
        continued = np.zeros(len(self.heads), np.bool_)
        continued[self._object_of_line[lines]] = True
        return continued

    def _behind_blanks(self, begin: Places) -> Places:
        for _ in range(BLANKS_MAX):
            letter = self.lines.letters[np.minimum(begin, len(self.lines.text))]
            begin = begin + ((letter == BLANK) | (letter == TAB))
        return begin


def _looked_up(numbers: _Numbers, raw: list[bytes]) -> Labels:
    return np.fromiter(map(numbers.__getitem__, raw), np.uint32, len(raw))
