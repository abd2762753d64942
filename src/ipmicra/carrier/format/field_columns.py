"""The fields of a page that are a value each -> their columns in a package, and back.

Invariant: `PAGE_FIELDS` says which fields these are; only flags are named here, since each has its bit. A
package without a field's column (its struct lacks it or has None) is of an earlier version: its pages have
the default.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import compress
from operator import attrgetter, getitem
from typing import Any, TypeAlias, TypeVar

import msgspec

from ipmicra.model.page import Page, RobotsDirectives, Travel, fields_by

FLAG_BITS = {"noindex": 1, "nofollow": 2, "nosnippet": 4, "truncated": 8}
TOLD_APART = 16  # a flag of the words, not of the page

FieldColumns: TypeAlias = dict[str, list[Any]]  # a field's name -> its values, page by page

_NAMES, _COLUMNS = fields_by(Travel.NAME), fields_by(Travel.COLUMN)
_FLAGS = [name for name in fields_by(Travel.FLAG) if name != "robots"]
_ROBOTS = RobotsDirectives._fields
_ROBOTS_BITS = sum(FLAG_BITS[name] for name in _ROBOTS)
_name_values, _column_values = attrgetter(*_NAMES), attrgetter(*_COLUMNS)
_flag_values = attrgetter(*(f"robots.{name}" if name in _ROBOTS else name for name in FLAG_BITS))

_Key = TypeVar("_Key")


class Numbers(dict[_Key, int]):
    """Things -> numbers, in the order in which they were first asked for."""

    def __init__(self) -> None:
        self._new: list[_Key] = []

    def __missing__(self, key: _Key) -> int:
        number = self[key] = len(self)
        self._new.append(key)
        return number

    def take_new(self) -> list[_Key]:
        """Those that had no number when this was last called."""
        new, self._new = self._new, []
        return new


class FieldEncoder:
    """Pages, added one after the other -> the columns of their names and of their plain values."""

    def __init__(self) -> None:
        self._names = [Numbers[str]() for _ in _NAMES]
        self._rows: list[tuple[Any, ...]] = []

    def add(self, page: Page) -> None:
        self._rows.append((*map(getitem, self._names, _name_values(page)), *_column_values(page)))

    def columns(self) -> FieldColumns:
        """By the name of the package's column."""
        fields = [*map(_positions_name, _NAMES), *_COLUMNS]
        values = zip(*self._rows, strict=True) if self._rows else ((),) * len(fields)
        known = zip(map(_values_name, _NAMES), map(list, self._names), strict=True)
        return dict(known) | dict(zip(fields, map(list, values), strict=True))


def flags_of(page: Page) -> int:
    return sum(compress(FLAG_BITS.values(), _flag_values(page)))


def decode_fields(columns: msgspec.Struct, flags: Sequence[int]) -> FieldColumns:
    """By the name of the page's field, of a package of any format; ValueError where a name does not exist."""
    found: FieldColumns = {}
    for name in _NAMES:
        positions = getattr(columns, _positions_name(name), None)
        if positions is not None:
            found[name] = named(getattr(columns, _values_name(name)) or (), positions)
    for name in _COLUMNS:
        values = getattr(columns, name, None)
        if values is not None:
            found[name] = values
    for name in _FLAGS:
        bit = FLAG_BITS[name]
        found[name] = [bool(flag & bit) for flag in flags]
    found["robots"] = [_robots(flag & _ROBOTS_BITS) for flag in flags]
    return found


@cache
def _robots(flag: int) -> RobotsDirectives:
    return RobotsDirectives(*(bool(flag & FLAG_BITS[name]) for name in _ROBOTS))


def _values_name(field: str) -> str:
    return f"{field}s"


def _positions_name(field: str) -> str:
    return f"page_{field}s"


def named(names: Sequence[str], positions: Iterable[int]) -> list[str]:
    return [names[within(at, len(names))] for at in positions]


def within(position: int, count: int) -> int:
    if not 0 <= position < count:
        raise ValueError("a position that does not exist")
    return position
