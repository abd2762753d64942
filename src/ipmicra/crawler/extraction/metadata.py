"""Parsed markup -> the metadata of a page: title, description, language, robots, dates."""

from __future__ import annotations

from typing import NamedTuple

from ipmicra.crawler.extraction.dates import linked_data_dates
from ipmicra.crawler.extraction.markup import MarkupContents
from ipmicra.crawler.extraction.white_space import folded

TITLE_CHARACTERS_MAX = 1_024
DESCRIPTION_CHARACTERS_MAX = 2_048

_PUBLISHED = (
    "article:published_time", "datepublished", "og:published_time", "dc.date.issued", "dcterms.created",
    "dc.date", "date", "pubdate", "publishdate", "sailthru.date",
)  # fmt: skip
_MODIFIED = (
    "article:modified_time",
    "og:updated_time",
    "datemodified",
    "dcterms.modified",
    "last-modified",
)


class Metadata(NamedTuple):
    """As written; "" where the head is silent."""

    title: str = ""
    description: str = ""
    language: str = ""
    robots: tuple[str, ...] = ()
    published: str = ""
    modified: str = ""
    refresh: str = ""


def metadata_of(reading: MarkupContents, agent: str) -> Metadata:
    """`agent` is the name that a site may address us by."""
    named, robots = _metas(reading.metas, agent)
    published, modified = linked_data_dates(reading.dated_scripts)
    description = named.get("description") or named.get("og:description") or ""
    return Metadata(
        title=reading.title or folded(named.get("og:title", ""), TITLE_CHARACTERS_MAX),
        description=folded(description, DESCRIPTION_CHARACTERS_MAX),
        language=reading.language or named.get("content-language", ""),
        robots=tuple(robots),
        published=published or _first(named, _PUBLISHED) or reading.first_time,
        modified=modified or _first(named, _MODIFIED),
        refresh=named.get("refresh", ""),
    )


def _metas(metas: list[tuple[str, str]], agent: str) -> tuple[dict[str, str], list[str]]:
    """By lower-case name (the first wins), and all that is said to robots."""
    named: dict[str, str] = {}
    robots: list[str] = []
    for written, content in metas:
        name = written.strip().lower()
        if name in ("robots", agent):
            robots.append(content)
        named.setdefault(name, content)
    return named, robots


def _first(named: dict[str, str], names: tuple[str, ...]) -> str:
    if named.keys().isdisjoint(names):
        return ""
    return next((named[name] for name in names if named.get(name)), "")
