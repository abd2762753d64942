"""Dates in a page -> seconds since 1970.

Invariant: an impossible date, before the Web or not in the calendar, is None.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache

_EARLIEST_S = 662_688_000  # 1991-01-01: before the first web page
_LATEST_S = 4_102_444_800  # 2100-01-01
_YEAR_MONTH = re.compile(r"\d{4}-\d{2}")
_LD_PUBLISHED = re.compile(r'"datePublished"\s*:\s*"([^"]{4,40})"')
_LD_MODIFIED = re.compile(r'"dateModified"\s*:\s*"([^"]{4,40})"')


@lru_cache(1_024)  # pages of one site were mostly made together
def seconds_of(text: str) -> int | None:
    """From ISO 8601 in its usual variations, or from an HTTP date."""
    text = text.strip()[:40]
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(f"{text}-01" if _YEAR_MONTH.fullmatch(text) else text)
    except ValueError:
        try:
            moment = parsedate_to_datetime(text)
        except (ValueError, IndexError, TypeError):
            return None
    return _plausible(moment)


def _plausible(moment: datetime) -> int | None:
    try:
        seconds = int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except (OverflowError, ValueError):
        return None
    return seconds if _EARLIEST_S <= seconds < _LATEST_S else None


def linked_data_dates(scripts: Iterable[str]) -> tuple[str, str]:
    """datePublished and dateModified of JSON-LD, found even where the JSON around them is broken."""
    published = modified = ""
    for text in scripts:
        published = published or _first(_LD_PUBLISHED, text)
        modified = modified or _first(_LD_MODIFIED, text)
    return published, modified


def _first(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return found[1] if found else ""
