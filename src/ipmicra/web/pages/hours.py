"""A host's working hours as text -> a drawing of the week, seven days of twenty-four hours."""

from __future__ import annotations

import re

import htpy as h

from ipmicra.errors import OperatorFault
from ipmicra.host.limits.hours import DAYS, Hours

_REPORTED = re.compile(r"(?P<hours>.*) \((?P<zone>[^()]+)\)")
REPORTED_CHARACTERS_MAX = 200
_CELL, _LEFT, _TOP = 14, 30, 12


def hours_of(text: str) -> Hours | None:
    """From "mon-fri 22:00-06:00 (Europe/Athens)", as a host reports it."""
    found = _REPORTED.fullmatch(text) if len(text) <= REPORTED_CHARACTERS_MAX else None
    if found is None:
        return None
    try:
        return Hours.parse(found["hours"], found["zone"])
    except OperatorFault:
        return None


def week(hours: Hours) -> h.Element:
    """An hour is filled if any part of it is open; the text is shown next to the drawing."""
    svg = h.Element("svg")
    width, height = _LEFT + 24 * _CELL, _TOP + 7 * _CELL
    return svg(".week", viewBox=f"0 0 {width} {height}", width=str(width), aria_hidden="true")[
        (_label(_LEFT + hour * _CELL, _TOP - 3, f"{hour:02}") for hour in range(0, 24, 6)),
        (_day(hours, day) for day in range(7)),
    ]


def _day(hours: Hours, day: int) -> h.Node:
    rect = h.Element("rect")
    top = _TOP + day * _CELL
    cells = (
        rect(
            class_={"open": _is_open(hours, day, hour)},
            x=str(_LEFT + hour * _CELL),
            y=str(top),
            width=str(_CELL - 2),
            height=str(_CELL - 2),
            rx="2",
        )
        for hour in range(24)
    )
    return [_label(0, top + 9, DAYS[day]), cells]


def _is_open(hours: Hours, day: int, hour: int) -> bool:
    begin, end = hour * 60, hour * 60 + 60
    return any(span.weekday == day and span.start < end and begin < span.end for span in hours.spans)


def _label(x: int, y: int, text: str) -> h.Element:
    return h.Element("text")(x=str(x), y=str(y))[text]
