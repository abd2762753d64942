"""A page -> the fields of the index, and the analyzers that cut their text into terms.

Law: analyzers are registered at every opening, for writing and for reading alike; a term in a question is
cut by the same analyzer as the text it is looked for in.

Each text is there unstemmed (`title`, `headings`, `anchors`, `text`), and all of it once more stemmed by
the page's language (`stem_en`, ...). Chinese, Japanese and Korean text is there as n-grams of one and two
characters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import unquote

import tantivy

from ipmicra.crawler.extraction.page import Page

STEMMED = {
    "ar": "arabic", "da": "danish", "nl": "dutch", "en": "english", "fi": "finnish", "fr": "french",
    "de": "german", "el": "greek", "hu": "hungarian", "it": "italian", "no": "norwegian", "nb": "norwegian",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "es": "spanish", "sv": "swedish", "ta": "tamil",
    "tr": "turkish",
}  # fmt: skip
STEM_FIELDS = {language: f"stem_{name}" for language, name in STEMMED.items()}
WORD_CHARACTERS_MAX = 64

_CJK = re.compile("[\u2e80-\u303f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+")


def schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("id", indexed=True, fast=True)  # deleting by an unsigned term does nothing
    builder.add_unsigned_field("similarity", fast=True)
    builder.add_unsigned_field("site_key", fast=True)
    builder.add_float_field("authority", fast=True)
    builder.add_integer_field("changed_at_s", indexed=True, fast=True)
    for name in ("site", "language", "crawler"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    for name in ("title", "headings", "anchors", "text", "address"):
        builder.add_text_field(name, tokenizer_name="words", index_option="position")
    for name, field in sorted({(STEMMED[language], field) for language, field in STEM_FIELDS.items()}):
        builder.add_text_field(field, tokenizer_name=f"stems_{name}", index_option="position")
    builder.add_text_field("cjk", tokenizer_name="characters", index_option="freq")
    return builder.build()


def analyzers() -> dict[str, tantivy.TextAnalyzer]:
    """By the names that the schema uses."""
    cut = {"words": _words().build(), "characters": _characters()}
    for name in set(STEMMED.values()):
        cut[f"stems_{name}"] = _words(fold=False).filter(tantivy.Filter.stemmer(name)).build()
    return cut


def register_analyzers(index: tantivy.Index) -> dict[str, tantivy.TextAnalyzer]:
    cut = analyzers()
    for name, analyzer in cut.items():
        index.register_tokenizer(name, analyzer)
    return cut


def _words(fold: bool = True) -> tantivy.TextAnalyzerBuilder:
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    builder = builder.filter(tantivy.Filter.remove_long(WORD_CHARACTERS_MAX)).filter(
        tantivy.Filter.lowercase()
    )
    return builder.filter(tantivy.Filter.ascii_fold()) if fold else builder


def _characters() -> tantivy.TextAnalyzer:
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.ngram(1, 2)).build()


def cjk_runs(text: str) -> list[str]:
    """The stretches of Chinese, Japanese and Korean characters."""
    return [] if text.isascii() else _CJK.findall(text)


def document(
    page: Page, identity: int, crawler: str, anchors: Sequence[str], authority: float, site_key: int
) -> tantivy.Document:
    """What the engine keeps of a page."""
    entry = tantivy.Document()
    entry.add_integer("id", identity)
    entry.add_unsigned("similarity", page.similarity_hash)
    entry.add_unsigned("site_key", site_key)
    entry.add_float("authority", authority)
    dated = page.modified_at_s or page.published_at_s
    if dated is not None:
        entry.add_integer("changed_at_s", dated)
    for name in names_of(site_of(page.url)):
        entry.add_text("site", name)
    entry.add_text("language", page.language)
    entry.add_text("crawler", crawler)
    entry.add_text("address", unquote(page.url.partition("//")[2]))
    _add_text(entry, page, anchors)
    return entry


def _add_text(entry: tantivy.Document, page: Page, anchors: Sequence[str]) -> None:
    entry.add_text("title", page.title)
    entry.add_text("headings", "\n".join(page.headings))
    entry.add_text("anchors", "\n".join(anchors))
    entry.add_text("text", page.text)
    whole = "\n".join((page.title, page.description, page.text, *anchors))
    if page.language in STEM_FIELDS:
        entry.add_text(STEM_FIELDS[page.language], whole)
    else:
        entry.add_text("text", page.description)
    characters = cjk_runs(whole)
    for run in characters:
        entry.add_text("cjk", run)


def site_of(url: str) -> str:
    """The site's name, without port."""
    authority = url.partition("//")[2].partition("/")[0].partition("?")[0].rpartition("@")[2]
    name = (
        authority.partition("]")[0] + "]" if authority.startswith("[") else authority.partition(":")[0]
    )
    return name.lower()


def names_of(site: str) -> list[str]:
    """A site's name and those it lies under: `site:example.org` finds docs.example.org."""
    if site.startswith("[") or site.replace(".", "").isdigit():
        return [site]
    labels = site.split(".")
    return [".".join(labels[start:]) for start in range(len(labels))]
