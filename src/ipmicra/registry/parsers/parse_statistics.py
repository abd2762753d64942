"""Records that could not be read -> counts by kind, and the first few of each with file and line.

Invariant: nothing is dropped in silence. A record is read, passed over (it is fine but not an allocation: a
person, an AS number, free space), or malformed; the three add up to what was in the files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import msgspec

EXAMPLES_MAX = 5
EXCERPT_BYTES_MAX = 120

# The defects of a record, with a text for people.
KINDS: Mapping[str, str] = {
    "bad-address": "an address cannot be read",
    "bad-as-number": "the AS number is not a number or too great",
    "bad-count": "the number of addresses is not a number, zero, or runs past the end of the family",
    "bad-prefix-length": "the prefix length is not a number or too long",
    "damaged-file": "the compressed file is cut short or broken; what follows is lost",
    "host-bits": "the prefix has bits set behind its length",
    "no-attributes": "the text has no 'name: value' lines",
    "no-handle": "an organisation without its handle",
    "no-range": "a network without its addresses",
    "reversed-range": "the range ends before it begins, or ends in the other family",
    "stray-text": "text stands where only elements may stand",
    "too-long": "the record is longer than any real one",
    "unclosed-element": "an XML element does not end",
    "unknown-format": "the file is in none of the known formats",
    "unknown-status": "the status is none that the format knows",
    "unknown-type": "the line is about neither addresses nor AS numbers",
    "wrong-field-count": "the line has too few fields",
}


class Malformed(Exception):
    """A record that cannot be read; `kind` is one of KINDS."""

    def __init__(self, kind: str) -> None:
        super().__init__(KINDS[kind])
        self.kind = kind


class Example(msgspec.Struct, frozen=True):
    """One malformed record, so that a person can look at it."""

    file: str
    line: int
    excerpt: str


class Tally:
    """The running count over all files of a build."""

    def __init__(self) -> None:
        self.read = 0
        self.passed_over: Counter[str] = Counter()
        self.malformed: Counter[str] = Counter()
        self.examples: dict[str, list[Example]] = {}

    def count_malformed(self, kind: str, file: str, line: int, record: bytes) -> None:
        assert kind in KINDS, f"{kind} is not described in KINDS"
        self.malformed[kind] += 1
        examples = self.examples.setdefault(kind, [])
        if len(examples) < EXAMPLES_MAX:
            excerpt = record[:EXCERPT_BYTES_MAX].decode("utf-8", "replace")
            examples.append(Example(file, line, excerpt))

    @property
    def records(self) -> int:
        return self.read + self.passed_over.total() + self.malformed.total()

    @property
    def malformed_share(self) -> float:
        return self.malformed.total() / self.records if self.records else 0.0
