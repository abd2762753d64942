"""The owner's text for working hours -> whether it is time to work, and until when.

    mon-fri 22:00-06:00, sat-sun 00:00-24:00        nights, and the whole weekend
    always                                          (or an empty text)

A span that ends before it begins runs over midnight into the next day. Hours are read on the wall clock
of the host's time zone, so they follow summer time. Invariant: pure; the time is an argument.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ipmicra.errors import OperatorFault

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MINUTES_A_DAY = 24 * 60
_SPAN = re.compile(r"(?P<days>[a-z,\- ]*?)\s*(?P<from>\d{1,2}:\d{2})\s*-\s*(?P<to>\d{1,2}:\d{2})")
_STEP = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Span:
    """Minutes of one weekday, half-open; `weekday` 0 is Monday."""

    weekday: int
    start: int
    end: int

    def holds(self, weekday: int, minute: int) -> bool:
        return weekday == self.weekday and self.start <= minute < self.end


@dataclass(frozen=True, slots=True)
class Hours:
    """When a crawler may work on this host."""

    spans: tuple[Span, ...]
    zone: ZoneInfo

    @classmethod
    def parse(cls, text: str, zone: str = "UTC") -> Hours:
        """Parse the owner's text. Raises OperatorFault with what is wrong."""
        try:
            where = ZoneInfo(zone)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise OperatorFault(
                f"hours: there is no time zone {zone!r}; example: Europe/Athens"
            ) from error
        hours_text = text.strip().lower()
        if hours_text in ("", "always"):
            return cls(tuple(Span(day, 0, MINUTES_A_DAY) for day in range(7)), where)
        return cls(tuple(span for part in _parts(hours_text) for span in _spans(part)), where)

    def is_open(self, at: datetime) -> bool:
        local = at.astimezone(self.zone)
        minute = local.hour * 60 + local.minute
        return any(span.holds(local.weekday(), minute) for span in self.spans)

    def hours_a_week(self) -> float:
        minutes = range(24 * 60)
        working = sum(
            any(span.holds(day, minute) for span in self.spans) for day in range(7) for minute in minutes
        )
        return working / 60

    def changes_at(self, at: datetime) -> datetime | None:
        """The next moment at which work begins or ends; None if it never does."""
        now = self.is_open(at)
        moment = at.astimezone(UTC).replace(second=0, microsecond=0)
        for _ in range(8 * MINUTES_A_DAY):
            moment += _STEP
            if self.is_open(moment) != now:
                return moment
        return None


def _parts(hours_text: str) -> list[str]:
    """The spans, each with its days: a comma after a time begins the next one."""
    parts = re.split(r"(?<=\d)\s*[,;]\s*", hours_text)
    return [part for part in parts if part]


def _spans(part: str) -> list[Span]:
    match = _SPAN.fullmatch(part.strip())
    if match is None:
        raise OperatorFault(f"hours: {part!r} is not like 'mon-fri 22:00-06:00' or 'always'")
    start, end = _minute(match["from"]), _minute(match["to"])
    if start == end:
        raise OperatorFault(
            f"hours: {part!r} begins and ends at the same time; write 00:00-24:00 for all day"
        )
    days = _days(match["days"])
    if start < end:
        return [Span(day, start, end) for day in days]
    early = [Span((day + 1) % 7, 0, end) for day in days if end > 0]
    return [Span(day, start, MINUTES_A_DAY) for day in days] + early


def _minute(text: str) -> int:
    hour, minute = map(int, text.split(":"))
    if minute > 59 or hour * 60 + minute > MINUTES_A_DAY:
        raise OperatorFault(f"hours: {text!r} is not a time of day")
    return hour * 60 + minute


def _days(text: str) -> list[int]:
    if not text.strip():
        return list(range(7))
    days: list[int] = []
    for word in re.split(r"[,\s]+", text.strip()):
        first, _, last = word.partition("-")
        if first not in DAYS or (last and last not in DAYS):
            raise OperatorFault(
                f"hours: {word!r} is not a day or a span of days; examples: mon, tue-thu, sat,sun"
            )
        begin, end = DAYS.index(first), DAYS.index(last or first)
        days += [day % 7 for day in range(begin, end + 1 if end >= begin else end + 8)]
    return days
