"""A parsed document -> what its head says: title, description, canonical, base, robots, dates."""

from __future__ import annotations

from typing import NamedTuple

from turbohtml import Document

from ipmicra.crawler.extraction.directives import AGENT

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

    title: str
    description: str
    language: str
    canonical: str
    base: str
    robots: list[str]
    published: str
    modified: str


def metadata_of(document: Document) -> Metadata:
    named, robots = _metas(document)
    title = document.find("title")
    root = document.root
    base = document.find("base")
    description = named.get("description") or named.get("og:description") or ""
    return Metadata(
        title=_folded(title.text if title is not None else "", TITLE_CHARACTERS_MAX)
        or _folded(named.get("og:title", ""), TITLE_CHARACTERS_MAX),
        description=_folded(description, DESCRIPTION_CHARACTERS_MAX),
        language=(root.attr("lang") or root.attr("xml:lang") or "" if root is not None else "")
        or named.get("content-language", ""),
        canonical=_canonical(document),
        base=(base.attr("href") or "") if base is not None else "",
        robots=robots,
        published=_first(named, _PUBLISHED) or _first_time(document),
        modified=_first(named, _MODIFIED),
    )


def _metas(document: Document) -> tuple[dict[str, str], list[str]]:
    """meta elements by lower-case name (the first wins), and all that is said to robots."""
    named: dict[str, str] = {}
    robots: list[str] = []
    for meta in document.select("meta"):
        name = (
            meta.attr("name")
            or meta.attr("property")
            or meta.attr("itemprop")
            or meta.attr("http-equiv")
        )
        if not name:
            continue
        name, content = name.strip().lower(), meta.attr("content") or ""
        if name in ("robots", AGENT):
            robots.append(content)
        named.setdefault(name, content)
    return named, robots


def _canonical(document: Document) -> str:
    for link in document.select("link"):
        rel = (link.attr("rel") or "").lower()
        if "canonical" in rel and "canonical" in rel.split():
            return link.attr("href") or ""
    return ""


def _first(named: dict[str, str], names: tuple[str, ...]) -> str:
    if named.keys().isdisjoint(names):
        return ""
    return next((named[name] for name in names if named.get(name)), "")


def _first_time(document: Document) -> str:
    time = document.find("time")
    return (time.attr("datetime") or "") if time is not None else ""


def _folded(text: str, characters_max: int) -> str:
    return " ".join(text.split())[:characters_max]
