"""HTML -> what `reading.Reading` wants of it, by way of a tree: for machines without the compiled
reader.

Invariant: the document is consumed. Tables, lists and forms are opened up first: the renderer would pad
each cell to the width of its column, which a hostile table of a hundred kilobytes blows up to gigabytes,
number what the page does not number, and drop what stands in a list outside of its items.

A single tag asked of the document is answered from the parser's index of tags, in a tenth of the time of
any other question; the index lasts until the first change.
"""

from __future__ import annotations

import turbohtml
from turbohtml import Document, Element, PlainText, Text

from ipmicra.crawler.extraction.white_space import folded, lines_of
from ipmicra.model.page import rel_of_both

TITLE_CHARACTERS_MAX = 1_024
HEADINGS_MAX = 1_000
FOOTERS_MAX = 200  # for each the way up to the root is walked
HEADING_CHARACTERS_MAX = 512
LINK_CHARACTERS_MAX = 512

_UNWORTHY_TAGS = ("nav", "button", "select", "textarea", "iframe", "object", "svg", "noscript")
_UNWORTHY_ATTRIBUTES = "[hidden],[role=navigation],[aria-hidden=true]"
_FOOTER_OF_A_PART = "article,section,main,blockquote"
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_RUNNING_ON = (
    *("ul", "ol", "menu", "dir", "form", "fieldset", "legend", "center", "dialog", "hgroup", "search"),
    *("option", "optgroup"),
)
_NAMED_BY = ("name", "property", "itemprop", "http-equiv")
_PLAIN = PlainText(width=0, layout="strict", bullet="", table_cell_separator=" ")


def read(html: bytes, _folder: str) -> tuple[object, ...]:
    """The fields of a Reading, in order; no link is joined."""
    document = turbohtml.parse(html.decode("utf-8", "replace"), positions=False)
    root, time = document.root, document.find("time")
    links = _links(document)
    head = (
        _title(document),
        (root.attr("lang") or root.attr("xml:lang") or "") if root is not None else "",
        next((href for base in document.select("base") if (href := base.attr("href"))), ""),
        _canonical(document),
        (time.attr("datetime") or "") if time is not None else "",
        _metas(document),
        [text for script in document.select("script") if '"date' in (text := script.text)],
    )
    text, headings = _text_and_headings(document)
    return (*head, links, list(range(len(links))), headings, text)


# --- the head -------------------------------------------------------------------------------------------


def _title(document: Document) -> str:
    """The title of the page, not of a drawing."""
    titles = (title for title in document.select("title") if title.closest("svg") is None)
    return next((folded(title.text, TITLE_CHARACTERS_MAX) for title in titles), "")


def _metas(document: Document) -> list[tuple[str, str]]:
    metas = []
    for meta in document.select("meta"):
        name = next((name for by in _NAMED_BY if (name := meta.attr(by))), "")
        if name:
            metas.append((name, meta.attr("content") or ""))
    return metas


def _canonical(document: Document) -> str:
    for link in document.select("link"):
        if "canonical" in (link.attr("rel") or "").lower().split():
            return link.attr("href") or ""
    return ""


# --- links ----------------------------------------------------------------------------------------------


def _links(document: Document) -> list[tuple[str, str, str]]:
    """Each href once, without fragment."""
    said: dict[str, tuple[str, str]] = {}
    for tag, attribute in (("a", "href"), ("area", "href"), ("frame", "src")):
        for element in document.select(tag):
            href = (element.attr(attribute) or "").partition("#")[0]
            if href:
                rel = (element.attr("rel") or "").lower()
                text, before = said.get(href, ("", rel))
                said[href] = (text or _text(element), rel_of_both(before, rel))
    return [(href, text, rel) for href, (text, rel) in said.items()]


def _text(element: Element) -> str:
    """Its text, or that of the first picture in it."""
    if element.tag != "a":
        return folded(element.attr("alt") or element.attr("title") or "", LINK_CHARACTERS_MAX)
    text = folded(element.text, LINK_CHARACTERS_MAX)
    if text or (image := element.find("img")) is None:
        return text
    return folded(image.attr("alt") or "", LINK_CHARACTERS_MAX)


# --- text -----------------------------------------------------------------------------------------------


def _text_and_headings(document: Document) -> tuple[str, list[str]]:
    body = document.find("body") or document
    for element in _not_worth_indexing(document, body):
        element.decompose()
    headings = _headings(document)
    _open_up(document)
    return lines_of(body.to_text(_PLAIN)), headings


def _not_worth_indexing(document: Document, body: Document | Element) -> list[Element]:
    """All found before any is removed. A body that is itself hidden is one that a script will show."""
    found = [element for tag in _UNWORTHY_TAGS for element in document.select(tag)]
    footers = document.select("footer")[:FOOTERS_MAX]
    found += [one for one in footers if one.closest(_FOOTER_OF_A_PART) is None]
    return found + body.select(_UNWORTHY_ATTRIBUTES)


def _headings(document: Document) -> list[str]:
    found = [heading.text for level in _HEADINGS for heading in document.select(level)]
    headings = (folded(text, HEADING_CHARACTERS_MAX) for text in found[:HEADINGS_MAX])
    return [heading for heading in headings if heading]


def _open_up(document: Document) -> None:
    """Separate cells into words, rows into lines, and other blocks into plain blocks."""
    tables = document.select("table")
    blocks = [element for tag in _RUNNING_ON for element in document.select(tag)]
    if tables:
        for cell in [*document.select("td"), *document.select("th")]:
            cell.append(Text(" "))
        for row in [*document.select("tr"), *document.select("caption")]:
            row.append(Element("br"))
    for element in [*tables, *blocks]:
        element.tag = "div"
