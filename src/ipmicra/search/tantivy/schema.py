"""A page -> the fields of the index, and the analyzers that cut their text into terms.

Law: analyzers are registered at every opening, for writing and for reading alike; a term in a question is
cut by the same analyzer as the text it is looked for in.

All of a page is in the one field of its language (`stem_english`, ...; `plain` where there is no stemmer),
stemmed, what counts more as often as it counts more: BM25 over that is BM25F (Robertson, Zaragoza and Taylor
2004), and a word is one look-up. What a page is called is there once more: a page is lifted by the words
that name it. Phrases and spelling use the same texts unstemmed and apart (`title`,
`headings`, `anchors`, `text`). Chinese, Japanese and Korean text is there as n-grams of one and two
characters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import unquote

import tantivy

from ipmicra.model.page import Page
from ipmicra.search.keys import names_of, site_name_of

STEMMED = {
    "ar": "arabic", "da": "danish", "nl": "dutch", "en": "english", "fi": "finnish", "fr": "french",
    "de": "german", "el": "greek", "hu": "hungarian", "it": "italian", "no": "norwegian", "nb": "norwegian",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "es": "spanish", "sv": "swedish", "ta": "tamil",
    "tr": "turkish",
}  # fmt: skip
PLAIN = "plain"  # the field of pages whose language has no stemmer
BODY_FIELDS = (PLAIN, *sorted({f"stem_{name}" for name in STEMMED.values()}))
NAMES = "names"  # what a page is called, by itself (twice) and by those who link to it
WEIGHTS = {
    "title": 2,
    "headings": 1,
    "anchors": 2,
}  # how often beside the text, which holds headings once
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
    for name in BODY_FIELDS:
        builder.add_text_field(name, tokenizer_name=analyzer_of(name), index_option="freq")
    builder.add_text_field(NAMES, tokenizer_name="words", index_option="freq")
    builder.add_text_field("cjk", tokenizer_name="characters", index_option="freq")
    return builder.build()


def analyzers() -> dict[str, tantivy.TextAnalyzer]:
    """By the names that the schema uses."""
    cut = {
        "words": _lower_words().filter(tantivy.Filter.ascii_fold()).build(),
        "characters": _characters(),
    }
    for name in sorted(set(STEMMED.values())):
        stemming = _lower_words().filter(tantivy.Filter.stemmer(name))
        cut[f"stem_{name}"] = stemming.filter(tantivy.Filter.ascii_fold()).build()
    return cut


def body_field(language: str) -> str:
    """The field that holds all of a page in this language."""
    return f"stem_{STEMMED[language]}" if language in STEMMED else PLAIN


def analyzer_of(field: str) -> str:
    return "words" if field == PLAIN else field


def register_analyzers(index: tantivy.Index) -> dict[str, tantivy.TextAnalyzer]:
    cut = analyzers()
    for name, analyzer in cut.items():
        index.register_tokenizer(name, analyzer)
    return cut


def _lower_words() -> tantivy.TextAnalyzerBuilder:
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    return builder.filter(tantivy.Filter.remove_long(WORD_CHARACTERS_MAX)).filter(
        tantivy.Filter.lowercase()
    )


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
    for name in names_of(site_name_of(page.url)):
        entry.add_text("site", name)
    entry.add_text("language", page.language)
    entry.add_text("crawler", crawler)
    entry.add_text("address", unquote(page.url.partition("//")[2]))
    _add_text(entry, page, anchors)
    return entry


def _add_text(entry: tantivy.Document, page: Page, anchors: Sequence[str]) -> None:
    headings = "\n".join(page.headings)
    linked = "\n".join(anchors)
    entry.add_text("title", page.title)
    entry.add_text("headings", headings)
    entry.add_text(NAMES, f"{page.title}\n{page.title}\n{linked}")
    entry.add_text("anchors", linked)
    entry.add_text("text", f"{page.text}\n{page.description}")
    weighted = [page.title] * WEIGHTS["title"] + [headings] * WEIGHTS["headings"]
    weighted += [linked] * WEIGHTS["anchors"] + [page.description, page.text]
    whole = "\n".join(weighted)
    entry.add_text(body_field(page.language), whole)
    for run in cjk_runs(whole):
        entry.add_text("cjk", run)
