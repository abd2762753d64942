"""Records as they were decoded -> the same, or ValueError where a value is beyond what it can be.

Invariant: pure. All that passes fits into 64-bit columns, a calendar and a page of results. What a site
can make long (a title, a type, a link's rel) has no bound here: an honest crawler would be refused for
it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import msgspec

from ipmicra.model.fingerprints import CONTENT_HASH_BYTES
from ipmicra.model.page import Page
from ipmicra.model.records import (
    FetchMeasurement,
    PageChanged,
    PageMoved,
    PageSeen,
    Record,
    VisitFailed,
)

VISIT_MAX = 1 << 53  # exact in every number format; crawlers count from 1, or by milliseconds
MOMENT_S_MAX = 253_402_300_799  # the end of the year 9999: no calendar of ours goes further
DATE_S_MAX = 1 << 41  # in both directions: the age that a page states is stored as a number
COUNT_MAX = 1 << 48
STATUS_MAX = 999
URL_CHARACTERS_MAX = 16_384


def _page_ranges() -> Iterator[tuple[str, tuple[int, int]]]:
    """Each number of a page: a moment (`..._at_s`) is a date, any other a count."""
    for field in msgspec.structs.fields(Page):
        if field.type in (int, int | None):
            is_date = field.name.endswith("_at_s")
            yield field.name, (-DATE_S_MAX, DATE_S_MAX) if is_date else (0, COUNT_MAX)


PAGE_RANGES = dict(_page_ranges())


def check_ranges(records: Iterable[Record]) -> None:
    """Raises ValueError, naming the record and the value."""
    for record in records:
        if isinstance(record, FetchMeasurement):
            _check_measurement(record)
            continue
        _check(record.url[:100], "visit", record.visit, 0, VISIT_MAX)
        _check(record.url[:100], "fetched_at_ms", record.fetched_at_ms, 0, 1000 * MOMENT_S_MAX)
        _check(record.url[:100], "characters of a URL", len(record.url), 0, URL_CHARACTERS_MAX)
        if not isinstance(record, VisitFailed):
            _check(record.url, "status", record.status, 0, STATUS_MAX)
        if isinstance(record, PageMoved):
            _check(record.url, "characters of a target", len(record.target), 0, URL_CHARACTERS_MAX)
        elif isinstance(record, PageSeen | PageChanged):
            _check_page(record)


def _check_page(record: PageSeen | PageChanged) -> None:
    page = record.page if isinstance(record, PageSeen) else record
    for name, (least, below) in PAGE_RANGES.items():
        value = getattr(page, name)
        if value is not None:
            _check(record.url, name, value, least, below)
    if isinstance(record, PageChanged):
        for digest in (record.base, record.whole, record.content_hash):
            _check(record.url, "bytes of a digest", len(digest), 0, CONTENT_HASH_BYTES + 1)
        _check(record.url, "headings", record.headings, 0, COUNT_MAX)
        _check(record.url, "lines", record.lines, 0, COUNT_MAX)


def _check_measurement(measurement: FetchMeasurement) -> None:
    _check(measurement.site[:100], "measured_at_ms", measurement.measured_at_ms, 0, 1000 * MOMENT_S_MAX)
    for name in ("fetches", "round_trip_us", "body_bytes", "unchanged", "first_byte_ms", "download_ms"):
        value = getattr(measurement, name)
        if not math.isfinite(value):
            raise ValueError(f"{measurement.site[:100]}: {name} is {value}")
        _check(measurement.site[:100], name, value, 0, COUNT_MAX)


def _check(what: str, name: str, value: float, least: int, below: int) -> None:
    if not least <= value < below:
        raise ValueError(f"{what[:100]}: {name} is {value}; {least} to {below} is possible")
