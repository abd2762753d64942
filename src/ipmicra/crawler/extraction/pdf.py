"""A PDF -> its title and the text of its pages, where the extra `pdf` is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pypdfium2

PAGES_MAX = 500
TEXT_CHARACTERS_MAX = 2 * 1024 * 1024


class PdfText(NamedTuple):
    title: str
    text: str
    truncated: bool


def pdf_text(body: bytes) -> PdfText | None:
    """None where the file cannot be read, or nothing that reads PDF is installed."""
    try:
        import pypdfium2
    except ImportError:
        return None
    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError:
        return None
    try:
        return _read(document)
    finally:
        document.close()


def _read(document: pypdfium2.PdfDocument) -> PdfText:
    pieces: list[str] = []
    characters = 0
    for number in range(min(len(document), PAGES_MAX)):
        text = _text_of_page(document, number)
        if text is None:
            continue
        pieces.append(text)
        characters += len(text)
        if characters >= TEXT_CHARACTERS_MAX:
            break
    complete = len(pieces) == len(document) and characters < TEXT_CHARACTERS_MAX
    whole = "\n".join(pieces)[:TEXT_CHARACTERS_MAX]
    return PdfText(document.get_metadata_value("Title"), whole, not complete)


def _text_of_page(document: pypdfium2.PdfDocument, number: int) -> str | None:
    """None where this page cannot be read: the others may."""
    from pypdfium2 import PdfiumError

    try:
        page = document[number]
        try:
            text_page = page.get_textpage()
            text: str = text_page.get_text_range()
            text_page.close()
        finally:
            page.close()
    except PdfiumError:
        return None
    return text
