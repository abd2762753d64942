"""A block of "name: value" lines -> where its objects and their attributes stand, as arrays.

Objects are divided by empty lines. An object is a row: a number into `heads` and `tails`, its first and
last lines.

Invariant: says only where things stand; what they mean is for `plain_objects` and `keyed`.
"""

from __future__ import annotations

import numpy as np

from ipmicra.registry.parsers.fields import Fields, Places, Truths

BLANKS_MAX = 16  # RPSL dumps align values in the 17th column
BLANK, TAB, PLUS = 32, 9, 43


class ObjectLines:
    """The objects of one block."""

    def __init__(self, text: bytes) -> None:
        self.lines = lines = Fields.of_lines(text)
        filled = lines.line_begin != lines.line_end
        before, after = np.roll(filled, 1), np.roll(filled, -1)
        before[:1] = after[-1:] = False
        self.heads = np.flatnonzero(filled & ~before)
        self.tails = np.flatnonzero(filled & ~after)
        self._object_of_line = np.cumsum(filled & ~before) - 1
        self._filled = filled
        self._begins_with = lines.eights[lines.line_begin]

    def text_of(self, row: int) -> bytes:
        begin, end = self.lines.line_begin[self.heads[row]], self.lines.line_end[self.tails[row]]
        return self.lines.text[int(begin) : int(end)]

    def first_lines(self, name: bytes) -> Places:
        """For each object its first line that begins with the name, or -1."""
        start = name[:8]
        mask = np.uint64((1 << 8 * len(start)) - 1)
        found = np.flatnonzero((self._begins_with & mask) == np.uint64(int.from_bytes(start, "little")))
        if len(name) > len(start):
            found = found[self.lines.begin_with(self.lines.line_begin[found], name)]
        first = np.full(len(self.heads), -1, np.int64)
        first[self._object_of_line[found[::-1]]] = found[::-1]
        return first

    def continued(self) -> Truths:
        """Which objects have a line that continues the one above."""
        letter = self._begins_with & np.uint64(0xFF)
        lines = self._filled & ((letter == BLANK) | (letter == TAB) | (letter == PLUS))
        continued = np.zeros(len(self.heads), np.bool_)
        continued[self._object_of_line[lines]] = True
        return continued

    def values(self, name: bytes, rows: Places) -> list[bytes]:
        """The value of the first line of this name, for each object; empty if it has none."""
        line = self.first_lines(name)[rows]
        begin = np.where(line >= 0, self.lines.line_begin[line] + len(name), 0)
        end = np.where(line >= 0, self.lines.line_end[line], 0)
        text = self.lines.text
        return [text[left:right] for left, right in zip(begin.tolist(), end.tolist(), strict=True)]

    def head_values(self, name: bytes, rows: Places) -> tuple[Places, Places]:
        """Where the values of the first lines begin, blanks passed over, and end."""
        begin = self.lines.line_begin[self.heads[rows]] + len(name)
        for _ in range(BLANKS_MAX):
            letter = self.lines.letters[np.minimum(begin, len(self.lines.text))]
            begin = begin + ((letter == BLANK) | (letter == TAB))
        return begin, self.lines.line_end[self.heads[rows]]

    def next_places(self, letter: int, begin: Places) -> Places:
        """From each place on, where the letter stands next; behind the text if it does not."""
        letters = self.lines.letters
        places = np.append(np.flatnonzero(letters == letter), len(letters) - 1)
        return places[np.searchsorted(places, begin)]
