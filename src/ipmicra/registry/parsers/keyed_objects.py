"""Objects of "name: value" lines between blank lines -> networks and organisations.

One parser for three dialects that differ in words only: RPSL (RIPE, APNIC, AFRINIC; whole databases and
split files), ARIN's bulk WHOIS text, LACNIC's bulk WHOIS. An object's class is the name of its first
attribute. Of an attribute that is repeated the first counts; a line that begins with a blank or "+"
continues the one above; "%" and "#" lines are remarks.

Invariant: `read_object` says what an object means. One regular expression finds the few wanted attributes,
since splitting every line costs twice the time. Plain RPSL objects are taken by arrays (`plain_objects`).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ipmicra.registry.parsers.accumulator import Accumulator
from ipmicra.registry.parsers.blocks import Block
from ipmicra.registry.parsers.normalisation import (
    country_code,
    range_of,
    registry_called,
    status_words,
)
from ipmicra.registry.parsers.parse_statistics import Malformed
from ipmicra.registry.parsers.plain_objects import PlainObjects

SEPARATORS = (b"\n\n",)


class Dialect(NamedTuple):
    """The words of one family of files, in lower case; of several names the first found counts."""

    registry: bytes  # when the objects do not say it themselves
    network_classes: frozenset[bytes]
    organisation_classes: frozenset[bytes]
    range_names: tuple[bytes, ...]
    handle_names: tuple[bytes, ...]
    name_names: tuple[bytes, ...]
    status_names: tuple[bytes, ...]
    organisation_handle: bytes = b"organisation"
    organisation_name: bytes = b"org-name"
    spelling: re.RegexFlag = re.NOFLAG

    def attributes(self) -> re.Pattern[bytes]:
        """Finds (name, value) of the wanted attributes behind a line end."""
        names = {*self.range_names, *self.handle_names, *self.name_names, *self.status_names}
        names |= {self.organisation_handle, self.organisation_name, b"country", b"source"}
        wanted = b"|".join(re.escape(name) for name in sorted(names))
        return re.compile(rb"\n(" + wanted + rb"):[ \t]*([^\n]*(?:\n[ \t+][^\n]*)*)", self.spelling)


RPSL = Dialect(
    registry=b"",
    network_classes=frozenset({b"inetnum", b"inet6num"}),
    organisation_classes=frozenset({b"organisation"}),
    range_names=(b"inetnum", b"inet6num"),
    handle_names=(b"org",),
    name_names=(b"descr", b"netname"),
    status_names=(b"status",),
)
LACNIC = Dialect(
    registry=b"lacnic",
    network_classes=frozenset({b"inetnum", b"inet6num"}),
    organisation_classes=frozenset(),
    range_names=(b"inetnum", b"inet6num"),
    handle_names=(b"ownerid",),
    name_names=(b"owner",),
    status_names=(b"status",),
)
ARIN = Dialect(
    registry=b"arin",
    network_classes=frozenset({b"nethandle", b"v6nethandle", b"netrange"}),
    organisation_classes=frozenset({b"orgid", b"orgname"}),
    range_names=(b"netrange",),
    handle_names=(b"orgid",),
    name_names=(b"netname",),
    status_names=(b"nettype",),
    organisation_handle=b"orgid",
    organisation_name=b"orgname",
    spelling=re.IGNORECASE,
)

OTHER_CLASSES = frozenset(
    {
        *("as-block", "as-set", "ashandle", "aut-num", "domain", "inet-rtr", "irt", "key-cert"),
        *("mntner", "peering-set", "person", "poc", "pochandle", "poem", "role", "route"),
        *("route-set", "route6"),
    }
)
_REMARK_LINES = re.compile(rb"(?m)^[%#][^\n]*\n?")
_CONTINUED = re.compile(rb"\n[ \t+][ \t]*")


class KeyedParser:
    """Reads blocks of one file into a gathering."""

    def __init__(self, dialect: Dialect, gathering: Accumulator, file: str) -> None:
        self._dialect = dialect
        self._attributes = dialect.attributes()
        self._loosely_spelled = dialect._replace(spelling=re.IGNORECASE).attributes()
        self._gathering = gathering
        self._plain = PlainObjects(gathering)
        self._file = file

    def parse(self, block: Block) -> None:
        if self._dialect is RPSL:
            for left in self._plain.take(block.text):
                self.read_object(left.text, block.line + left.lines_before)
            return
        line = block.line
        for text in block.text.split(SEPARATORS[0]):
            if text and text != b"\n":
                self.read_object(text, line)
            line += text.count(b"\n") + 2

    def read_object(self, text: bytes, line: int) -> None:
        try:
            self._take(text)
        except Malformed as malformed:
            blank_lines = len(text) - len(text.lstrip(b"\n"))
            tally = self._gathering.tally
            tally.count_malformed(malformed.kind, self._file, line + blank_lines, text.lstrip(b"\n"))

    def _take(self, text: bytes) -> None:
        if text[0] in b"\n%#":
            text = _REMARK_LINES.sub(b"", text).lstrip(b"\n")
            if not text.strip():
                self._gathering.tally.passed_over["remark"] += 1
                return
        object_class, colon, _ = text.partition(b":")
        if not colon or b"\n" in object_class:
            raise Malformed("no-attributes")
        object_class = object_class.strip().lower()
        if object_class in self._dialect.network_classes:
            self._take_network(self._found(text, self._dialect.range_names))
        elif object_class in self._dialect.organisation_classes:
            self._take_organisation(self._found(text, (self._dialect.organisation_handle,)))
        else:
            self._gathering.tally.passed_over[_counted_as(object_class)] += 1

    def _found(self, text: bytes, needed: tuple[bytes, ...]) -> dict[bytes, bytes]:
        """Wanted attributes by name. Names are written in lower case, yet any spelling is allowed."""
        text = b"\n" + text
        pairs = self._attributes.findall(text)
        pairs.reverse()
        found: dict[bytes, bytes] = dict(pairs)
        if b"source" not in found or not _first(found, needed):
            loose = self._loosely_spelled.findall(text)
            found = {name.lower(): value for name, value in reversed(loose)}
        return found

    def _take_network(self, found: dict[bytes, bytes]) -> None:
        dialect = self._dialect
        written = _first(found, dialect.range_names)
        if not written:
            raise Malformed("no-range")
        self._gathering.add(
            range_of(_unfolded(written)),
            _first(found, dialect.handle_names).partition(b"#")[0].rstrip(),
            _unfolded(_first(found, dialect.name_names)),
            country_code(found.get(b"country", b"")),
            registry_called(found.get(b"source", b"")) or dialect.registry,
            status_words(_first(found, dialect.status_names)),
        )

    def _take_organisation(self, found: dict[bytes, bytes]) -> None:
        handle = found.get(self._dialect.organisation_handle, b"").partition(b"#")[0].rstrip()
        if not handle:
            raise Malformed("no-handle")
        name = _unfolded(found.get(self._dialect.organisation_name, b""))
        self._gathering.add_organisation(handle, name, country_code(found.get(b"country", b"")))


def _first(found: dict[bytes, bytes], names: tuple[bytes, ...]) -> bytes:
    for name in names:
        value = found.get(name)
        if value:
            return value
    return b""


def _unfolded(value: bytes) -> bytes:
    """A value that goes on over several lines, as one line."""
    return (_CONTINUED.sub(b" ", value) if b"\n" in value else value).strip()


def _counted_as(object_class: bytes) -> str:
    """Known classes by name, so that garbage cannot fill the tally with arbitrary names."""
    name = object_class.decode("latin-1")
    return name if name in OTHER_CLASSES else "other object"
