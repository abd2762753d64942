"""The struct classes of this program -> their type information, built before threads decode them.

msgspec builds the type information of a struct when it is first decoded. When two threads do so at the
same time, the process ends with a segmentation fault (msgspec 0.22). Invariant: a program that decodes in
threads calls this first.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import msgspec


def build_struct_types() -> int:
    """Build the type information of all structs that are loaded so far. Returns their number."""
    built = 0
    for struct in _subclasses(msgspec.Struct):
        if struct.__module__.partition(".")[0] == "ipmicra":
            with suppress(NameError, TypeError):  # generic, or typed for checkers only: never decoded
                msgspec.msgpack.Decoder(struct)
                built += 1
    return built


def _subclasses(struct: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    for subclass in struct.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)
