"""Lines of separated fields -> arrays: where each field stands, and the numbers and addresses in them.

Invariant: arrays only speed up the line-by-line reading of a format. A line that they cannot read is not
`ok` and goes to that slow reading; they never count anything as malformed themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from socket import AF_INET6, inet_pton

import numpy as np
from numpy.typing import NDArray

from ipmicra.registry.parsers.normalisation import country_code

Places = NDArray[np.int64]
Truths = NDArray[np.bool_]
Numbers = NDArray[np.uint64]
Labels = NDArray[np.uint32]

NEWLINE, DOT, ZERO = 10, 46, 48
IPV4_LETTERS_MAX = 15
PADDING = bytes(64)  # so that looking a few bytes past the last field stays inside


@dataclass(frozen=True)
class Fields:
    """A block of lines cut at a separator. Rows are lines; `begin[k]` and `end[k]` belong to field k."""

    text: bytes
    letters: NDArray[np.uint8]  # text and some padding
    line_begin: Places
    line_end: Places
    count: Places  # how many fields the line really has
    begin: list[Places]  # a field that the line lacks is empty
    end: list[Places]

    @classmethod
    def of(cls, text: bytes, separator: bytes, count: int, rest: bool = False) -> Fields:
        """Cut every line into `count` fields; what follows is dropped or, with `rest`, is of the last."""
        lines = cls.of_lines(text)
        text, letters, line_begin, line_end = lines.text, lines.letters, lines.line_begin, lines.line_end
        cuts = np.flatnonzero(letters[: len(text)] == separator[0])
        first = np.searchsorted(cuts, line_begin)
        found = np.searchsorted(cuts, line_end) - first
        cuts = np.concatenate((cuts, np.zeros(count + 1, cuts.dtype)))
        ends = [np.where(found > k, cuts[first + k], line_end) for k in range(count)]
        begins = [line_begin, *(np.minimum(end + 1, line_end) for end in ends[:-1])]
        if rest:
            ends[-1] = line_end
        return cls(text, letters, line_begin, line_end, found + 1, begins, ends)

    @classmethod
    def of_lines(cls, text: bytes) -> Fields:
        """Only find the lines; they are not cut into fields."""
        if not text.endswith(b"\n"):
            text += b"\n"
        letters = np.frombuffer(text + PADDING, np.uint8)
        line_end = np.flatnonzero(letters[: len(text)] == NEWLINE)
        line_begin = np.concatenate((line_end[:0], [0], line_end[:-1] + 1))[: len(line_end)]
        return cls(text, letters, line_begin, line_end, np.zeros_like(line_end), [], [])

    def rows(self, chosen: Truths) -> Fields:
        """The chosen lines only."""
        return Fields(
            self.text,
            self.letters,
            self.line_begin[chosen],
            self.line_end[chosen],
            self.count[chosen],
            [column[chosen] for column in self.begin],
            [column[chosen] for column in self.end],
        )

    def texts(self, field: int) -> list[bytes]:
        text = self.text
        places = zip(self.begin[field].tolist(), self.end[field].tolist(), strict=True)
        return [text[begin:end] for begin, end in places]

    def line(self, row: int) -> bytes:
        return self.text[int(self.line_begin[row]) : int(self.line_end[row])]

    def are(self, field: int, word: bytes) -> Truths:
        """Where the field is exactly this word, compared by eight letters at a time."""
        begin = self.begin[field]
        same: Truths = self.end[field] - begin == len(word)
        return same & self.begin_with(begin, word)

    def begin_with(self, places: Places, word: bytes) -> Truths:
        """At which of these places the word stands."""
        same = np.ones(len(places), np.bool_)
        for place in range(0, len(word), 8):
            part = word[place : place + 8]
            mask = np.uint64((1 << 8 * len(part)) - 1)
            seen = self.eights[np.minimum(places + place, len(self.text))]
            same &= (seen & mask) == np.uint64(int.from_bytes(part, "little"))
        return same

    @property
    def eights(self) -> Numbers:
        """At each letter, it and the next seven as one number."""
        return np.ndarray((len(self.text) + 1,), "<u8", self.letters.data, 0, (1,))

    def countries(self, field: int, number: Callable[[bytes], int]) -> tuple[Labels, Truths]:
        """The number of two capital letters, 0 for none or ZZ; and where the field is one of these."""
        begin, length = self.begin[field], self.end[field] - self.begin[field]
        one, two = self.letters[begin], self.letters[begin + 1]
        ok = (length == 2) & (one >= 65) & (one <= 90) & (two >= 65) & (two <= 90)
        pairs = np.where(ok, one.astype(np.uint16) << 8 | two, np.uint16(0))
        labels = np.zeros(1 << 16, np.uint32)
        for pair in np.flatnonzero(np.bincount(pairs, minlength=1)).tolist():
            labels[pair] = number(country_code(pair.to_bytes(2, "big")))
        return labels[pairs], ok | (length == 0)

    def decimals(self, begin: Places, end: Places, digits_max: int = 10) -> tuple[Numbers, Truths]:
        """Numbers in decimal digits, and where there are some and only such."""
        length = end - begin
        value = np.zeros(len(begin), np.uint64)
        ok = (length > 0) & (length <= digits_max)
        for place in range(min(digits_max, int(length.max(initial=0)))):
            inside = place < length
            digit = self.letters[np.where(inside, begin + place, 0)] - np.uint8(ZERO)
            ok &= ~inside | (digit <= 9)
            value = np.where(inside, value * np.uint64(10) + digit, value)
        return value, ok

    def ipv4(self, begin: Places, end: Places) -> tuple[Numbers, Truths]:
        """Dotted addresses without superfluous zeros, and where they are that."""
        length = end - begin
        value, octet = np.zeros(len(begin), np.uint64), np.zeros(len(begin), np.uint64)
        dots, digits = np.zeros(len(begin), np.uint8), np.zeros(len(begin), np.uint8)
        ok = (length >= 7) & (length <= IPV4_LETTERS_MAX)
        for place in range(min(IPV4_LETTERS_MAX, int(length.max(initial=0)))):
            inside = place < length
            letter = self.letters[np.where(inside, begin + place, 0)]
            is_dot = inside & (letter == DOT)
            digit = letter - np.uint8(ZERO)
            is_digit = inside & (digit <= 9)
            ok &= ~inside | is_dot | is_digit
            ok &= ~(is_digit & (digits == 1) & (octet == 0)) & ~(is_dot & (digits == 0))
            value = np.where(is_dot, value << np.uint64(8) | octet, value)
            octet = np.where(is_digit, octet * np.uint64(10) + digit, octet)
            octet[is_dot] = 0
            ok &= octet <= 255
            dots += is_dot
            digits = np.where(is_dot, np.uint8(0), digits + is_digit)
        return value << np.uint64(8) | octet, ok & (dots == 3) & (digits > 0)

    def ipv6(self, begin: Places, end: Places) -> tuple[Numbers, Numbers, Truths]:
        """High and low 64 bits, and where the text is an address."""
        packed, ok = [], np.ones(len(begin), np.bool_)
        for row, (left, right) in enumerate(zip(begin.tolist(), end.tolist(), strict=True)):
            try:
                packed.append(inet_pton(AF_INET6, self.text[left:right].decode("ascii")))
            except (OSError, ValueError):
                packed.append(bytes(16))
                ok[row] = False
        halves = np.frombuffer(b"".join(packed), ">u8").astype(np.uint64).reshape(-1, 2)
        return halves[:, 0], halves[:, 1], ok
