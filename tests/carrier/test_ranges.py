"""Each value of a record has a range; one beyond it refuses the record."""

from __future__ import annotations

import math

import msgspec
import pytest

from ipmicra.carrier.ranges import check_ranges
from ipmicra.model.page import Page, RobotsDirectives
from ipmicra.model.records import (
    FetchMeasurement,
    PageChanged,
    PageGone,
    PageMoved,
    PageSeen,
    Record,
    VisitFailed,
)

GONE = PageGone(url="http://a.example/", visit=1, fetched_at_ms=1, status=404)
SEEN = PageSeen(
    url="http://a.example/", visit=1, fetched_at_ms=1, status=200, page=Page(url="http://a.example/")
)
MOVED = PageMoved(
    url="http://a.example/", visit=1, fetched_at_ms=1, status=301, target="http://b.example/"
)
FAILED = VisitFailed(url="http://a.example/", visit=1, fetched_at_ms=1, kind="dns", detail="")
MEASURED = FetchMeasurement(
    site="http://a.example",
    address="192.0.2.1",
    measured_at_ms=1,
    fetches=1,
    round_trip_us=1,
    first_byte_ms=1.0,
    download_ms=1.0,
    body_bytes=1,
)
CHANGED = PageChanged(
    url="http://a.example/",
    visit=1,
    fetched_at_ms=1,
    base=bytes(16),
    whole=bytes(16),
    taken=[],
    new=[],
    headings=0,
    lines=0,
    published_at_s=None,
    modified_at_s=None,
    content_hash=bytes(16),
    robots=RobotsDirectives(),
    body_bytes=0,
    truncated=False,
)


def changed(record: Record, **values: object) -> Record:
    return msgspec.structs.replace(record, **values)


def test_ordinary_records_pass() -> None:
    check_ranges([GONE, SEEN, MOVED, FAILED, MEASURED, CHANGED])


@pytest.mark.parametrize(
    ("record", "word"),
    [
        (changed(GONE, visit=-1), "visit"),
        (changed(GONE, visit=1 << 53), "visit"),
        (changed(GONE, fetched_at_ms=-1), "fetched_at_ms"),
        (changed(GONE, fetched_at_ms=1 << 60), "fetched_at_ms"),
        (changed(GONE, url="http://a.example/" + "x" * 16_384), "characters of a URL"),
        (changed(GONE, status=1_000), "status"),
        (changed(MOVED, target="http://a.example/" + "x" * 16_384), "characters of a target"),
        (changed(SEEN, page=Page(url=SEEN.url, published_at_s=1 << 62)), "published_at_s"),
        (changed(SEEN, page=Page(url=SEEN.url, modified_at_s=-(1 << 62))), "modified_at_s"),
        (changed(SEEN, page=Page(url=SEEN.url, body_bytes=1 << 60)), "body_bytes"),
        (changed(SEEN, page=Page(url=SEEN.url, body_bytes=-1)), "body_bytes"),
        (changed(FAILED, visit=1 << 62), "visit"),
        (changed(MEASURED, measured_at_ms=1 << 60), "measured_at_ms"),
        (changed(MEASURED, download_ms=math.nan), "download_ms"),
        (changed(MEASURED, first_byte_ms=math.inf), "first_byte_ms"),
        (changed(MEASURED, fetches=1 << 60), "fetches"),
        (changed(CHANGED, base=bytes(1_000)), "bytes of a digest"),
        (changed(CHANGED, headings=-1), "headings"),
        (changed(CHANGED, lines=1 << 60), "lines"),
    ],
)
def test_a_value_beyond_its_range_is_named(record: Record, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        check_ranges([record])
