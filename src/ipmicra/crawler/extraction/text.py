"""A parsed document -> its visible text, a line a block, and its headings.

The rule of what is worth indexing, in one place: all text that a visitor sees, except what the markup
itself declares to be something else: navigation (`nav`, role navigation), a page's footer (one that
belongs to no article, section or main), controls (`button`, `select`, `textarea`), embedded things
(`iframe`, `object`, `svg`, `noscript`, `template`), and what is hidden by an attribute. Links in those
parts are links all the same.

Law: the document is consumed. Tables are opened up first: the renderer would pad each cell to the width
of its column, which a hostile table of a hundred kilobytes blows up to gigabytes.

A single tag asked of the document is answered from the parser's index of tags, in a tenth of the time of
any other question; the index lasts until the first change.
"""

from __future__ import annotations

from turbohtml import Document, Element, PlainText, Text

HEADINGS_MAX = 1_000
HEADING_CHARACTERS_MAX = 512

_UNWORTHY_TAGS = ("nav", "button", "select", "textarea", "iframe", "object", "svg", "noscript")
_UNWORTHY_ATTRIBUTES = "[hidden],[role=navigation],[aria-hidden=true]"
_FOOTER_OF_A_PART = "article,section,main,blockquote"
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_PLAIN = PlainText(width=0, layout="strict", bullet="", table_cell_separator=" ")


def text_and_headings(document: Document) -> tuple[str, list[str]]:
    body = document.find("body") or document
    for element in _not_worth_indexing(document, body):
        element.decompose()
    headings = _headings(document)
    _open_up_tables(document)
    return lines_of(body.to_text(_PLAIN)), headings


def _not_worth_indexing(document: Document, body: Document | Element) -> list[Element]:
    """All found before any is removed. A body that is itself hidden is one that a script will show."""
    found = [element for tag in _UNWORTHY_TAGS for element in document.select(tag)]
    found += [one for one in document.select("footer") if one.closest(_FOOTER_OF_A_PART) is None]
    return found + body.select(_UNWORTHY_ATTRIBUTES)


def _headings(document: Document) -> list[str]:
    """h1 first, then h2 ... ."""
    headings = [_folded(heading.text) for level in _HEADINGS for heading in document.select(level)]
    return [heading for heading in headings if heading][:HEADINGS_MAX]


def _open_up_tables(document: Document) -> None:
    """Cells become words apart, rows become lines: what is in no table is laid out as running text."""
    tables = document.select("table")
    if not tables:
        return
    for cell in [*document.select("td"), *document.select("th")]:
        cell.append(Text(" "))
    for row in [*document.select("tr"), *document.select("caption")]:
        row.append(Element("br"))
    for table in tables:
        table.tag = "div"


def lines_of(text: str) -> str:
    """Without indentation, trailing blanks and empty lines."""
    return "\n".join(filter(None, map(str.strip, text.split("\n"))))


def _folded(text: str) -> str:
    return " ".join(text.split())[:HEADING_CHARACTERS_MAX]
