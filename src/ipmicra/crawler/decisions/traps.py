"""A URL -> the reason why it looks like one of endlessly many, or None.

Some sites generate pages without end: calendars, links that append a segment to their own path, every
order of every filter. The rules look at one URL at a time; the one that needs memory (how many queries of
one path are known) is a number that comes in as an argument.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from ipmicra.model.urls import Url, path_of


@dataclass(frozen=True, slots=True)
class TrapRules:
    """The limits of a plausible URL. Larger numbers reach more of unusual sites, and waste more."""

    url_length_max: int = 2_000  # the longest that all common servers and proxies take
    segments_max: int = 20
    segment_repeats_max: int = 3  # /a/x/a/x/a/x: the same segment that often is a loop
    parameters_max: int = 10
    query_length_max: int = 500
    queries_per_path_max: int = 1_000
    calendar_years_max: int = 2  # how far from today a calendar page may be


DEFAULT_RULES = TrapRules()

_FOUR_DIGITS = re.compile(r"\d{4}")
_CALENDAR_WORD = re.compile(r"calend|agenda|termin|kalend|schedule|/day/|/month/|/week/", re.IGNORECASE)
_YEAR = re.compile(
    r"(?<!\d)((?:1[5-9]|2[0-9])\d\d)[-/_=&]?(?:(?:month|mon|m|mo)=)?(?:0?[1-9]|1[0-2])(?!\d)"
)
_YEAR_PARAMETER = re.compile(r"(?:year|yr|jahr|annee)=(\d{4})(?!\d)", re.IGNORECASE)


def trap_in(url: Url, this_year: int, rules: TrapRules = DEFAULT_RULES) -> str | None:
    """Why the URL should not be followed; None when it looks ordinary."""
    if len(url) > rules.url_length_max:
        return "over-long URL"
    page = path_of(url)
    path, _, query = page.partition("?")
    return _path_trap(path, rules) or _query_trap(query, rules) or _calendar_trap(page, this_year, rules)


def too_many_queries(known_queries_of_path: int, rules: TrapRules = DEFAULT_RULES) -> bool:
    """Whether one path has more different query strings than the limit."""
    return known_queries_of_path >= rules.queries_per_path_max


def _path_trap(path: str, rules: TrapRules) -> str | None:
    if path.count("/") <= rules.segment_repeats_max:
        return None
    segments = [segment for segment in path.split("/") if segment]
    if len(segments) > rules.segments_max:
        return "too many path segments"
    if len(segments) - len(set(segments)) < rules.segment_repeats_max:
        return None  # too few are repetitions of anything
    if segments and max(Counter(segments).values()) > rules.segment_repeats_max:
        return "repeated path segments"
    return None


def _query_trap(query: str, rules: TrapRules) -> str | None:
    if not query:
        return None
    if len(query) > rules.query_length_max:
        return "over-long query"
    names = Counter(part.partition("=")[0] for part in query.split("&"))
    if names.total() > rules.parameters_max:
        return "too many parameters"
    if max(names.values()) > rules.segment_repeats_max:
        return "repeated parameters"
    return None


def _calendar_trap(page: str, this_year: int, rules: TrapRules) -> str | None:
    if _FOUR_DIGITS.search(page) is None:
        return None
    found = _YEAR_PARAMETER.search(page)
    if found is None and _CALENDAR_WORD.search(page):
        found = _YEAR.search(page)
    if found is not None and abs(int(found[1]) - this_year) > rules.calendar_years_max:
        return "calendar page far from today"
    return None
