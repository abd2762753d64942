"""A page -> the fields of the index, and the analyzers that cut their text into terms.

Invariant: analyzers are registered at every opening, for writing and for reading alike; a term in a query
is cut by the same analyzer as the text that it is searched in.

All of a page is in one field, `body`, as stems that carry the language of the page before them
(`english.crawl`; `plain.` where there is no stemmer), repeated by their weight: BM25 over that is BM25F
(Robertson, Zaragoza and Taylor 2004), and a word is one look-up per language. It is one field and not one
per language, since BM25 divides a length by the mean over all pages: pages of a language that few pages
have would all be judged as long. The names of a page are stored once more, as words (`names`) and as
complete texts (`called`, see `page_names`). Phrases and spelling use the same texts unstemmed and apart
(`title`, `headings`, `anchors`, `text`). Text of scripts without spaces is there as n-grams of one and
two characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from urllib.parse import unquote

import tantivy

from ipmicra.model.page import Page
from ipmicra.search.keys import names_of, origin_of, site_name_of, text_key
from ipmicra.search.query.query_words import signed_names
from ipmicra.search.query.stemmers import PLAIN, STEMMERS, stemmer_of
from ipmicra.search.ranking.page_names import PageNames

BODY = "body"
CALLED = "called"  # whole texts that name a page
NAMES = "names"  # words of the names of a page: its own (twice) and those in links to it
WEIGHTS = {
    "title": 2,
    "headings": 1,
    "anchors": 2,
}  # how often beside the text, which holds headings once
WORD_CHARACTERS_MAX = 64

# Chinese, Japanese, Korean; Thai, Lao, Burmese, Khmer (with their later blocks): written without spaces
_UNSPACED = re.compile(
    "[\u2e80-\u303f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff\uaa60-\uaa7f\ua9e0-\ua9ff]+"
)
_TYPES = {
    "text/html": "html", "application/xhtml+xml": "html", "application/pdf": "pdf", "text/plain": "txt",
    "text/markdown": "md", "application/xml": "xml", "text/xml": "xml", "application/json": "json",
}  # fmt: skip

Analyze = Callable[[str], list[str]]


def schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("id", indexed=True, fast=True)  # deleting by an unsigned term does nothing
    builder.add_unsigned_field("similarity", fast=True)
    builder.add_unsigned_field("site_key", fast=True)
    builder.add_unsigned_field("key", fast=True)  # of its address
    builder.add_unsigned_field("canonical", fast=True)  # the key of the address that it says it has
    builder.add_float_field("authority", fast=True)
    builder.add_integer_field("changed_at_s", indexed=True, fast=True)
    for name in ("site", "crawler"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    for name in ("language", "filetype", "origin", "year"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic", fast=True)
    for name in ("title", "headings", "anchors", "text", "address"):
        builder.add_text_field(name, tokenizer_name="words", index_option="position")
    builder.add_text_field(BODY, tokenizer_name="stems", index_option="freq")
    builder.add_text_field(NAMES, tokenizer_name="words", index_option="freq")
    builder.add_text_field(CALLED, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("cjk", tokenizer_name="characters", index_option="freq")
    return builder.build()


def analyzers() -> dict[str, tantivy.TextAnalyzer]:
    """By the names that the schema uses, and one for each stemmer."""
    cut = {
        "words": _lower_words().filter(tantivy.Filter.ascii_fold()).build(),
        "characters": tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.ngram(1, 2)).build(),
        "stems": tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build(),
    }
    for name in STEMMERS[1:]:
        stemming = _lower_words().filter(tantivy.Filter.stemmer(name))
        cut[name] = stemming.filter(tantivy.Filter.ascii_fold()).build()
    cut[PLAIN] = cut["words"]
    return cut


def stem_term(stemmer: str, stem: str) -> str:
    """As it stands in `body`."""
    return f"{stemmer}.{stem}"


def register_analyzers(index: tantivy.Index) -> dict[str, tantivy.TextAnalyzer]:
    cut = analyzers()
    for name in ("words", "characters", "stems"):
        index.register_tokenizer(name, cut[name])
    return cut


def _lower_words() -> tantivy.TextAnalyzerBuilder:
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    return builder.filter(tantivy.Filter.remove_long(WORD_CHARACTERS_MAX)).filter(
        tantivy.Filter.lowercase()
    )


def cjk_runs(text: str) -> list[str]:
    """The stretches of characters of scripts that are written without spaces."""
    return [] if text.isascii() else _UNSPACED.findall(text)


def filetypes_of(page: Page) -> list[str]:
    """The values that `filetype:` matches: the media type and the extension of the URL."""
    path = page.url.partition("?")[0].rpartition("/")[2]
    _, dot, ending = path.rpartition(".")
    of_address = ending.lower() if dot and ending.isalnum() and len(ending) <= 5 else ""
    of_type = _TYPES.get(page.media_type.partition(";")[0], "")
    return [one for one in dict.fromkeys((of_type, of_address)) if one]


def document(
    page: Page,
    identity: int,
    crawler: str,
    anchors: Sequence[str],
    authority: float,
    site_key: int,
    cut: dict[str, tantivy.TextAnalyzer],
    names: PageNames,
) -> tantivy.Document:
    """The engine's document of a page."""
    entry = tantivy.Document()
    entry.add_integer("id", identity)
    entry.add_unsigned("similarity", page.similarity_hash)
    entry.add_unsigned("site_key", site_key)
    entry.add_unsigned("key", text_key(page.url))
    entry.add_unsigned("canonical", text_key(page.canonical or page.url))
    entry.add_float("authority", authority)
    dated = page.modified_at_s or page.published_at_s
    if dated is not None:
        entry.add_integer("changed_at_s", dated)
        entry.add_text("year", str(datetime.fromtimestamp(dated, tz=UTC).year))
    site, origin = site_name_of(page.url), origin_of(page.url)
    for name in dict.fromkeys([*names_of(site), origin]):
        entry.add_text("site", name)
    entry.add_text("origin", origin)
    for name in filetypes_of(page):
        entry.add_text("filetype", name)
    entry.add_text("language", page.language)
    entry.add_text("crawler", crawler)
    entry.add_text("address", unquote(page.url.partition("//")[2]))
    for name in names.terms():
        entry.add_text(CALLED, name)
    _add_text(entry, page, anchors, cut)
    return entry


def composed(text: str) -> str:
    """Letters and their marks as one character, as questions have them."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _add_text(
    entry: tantivy.Document, page: Page, anchors: Sequence[str], cut: dict[str, tantivy.TextAnalyzer]
) -> None:
    title, headings, linked = (
        _with_signed(composed(one)) for one in (page.title, "\n".join(page.headings), "\n".join(anchors))
    )
    text = _with_signed(composed(f"{page.text}\n{page.description}"))
    entry.add_text("title", title)
    entry.add_text("headings", headings)
    entry.add_text(NAMES, f"{title}\n{title}\n{linked}")
    entry.add_text("anchors", linked)
    entry.add_text("text", text)
    stemmer = stemmer_of(page.language)
    analyze = cut[stemmer].analyze
    stems = analyze(title) * WEIGHTS["title"] + analyze(headings) * WEIGHTS["headings"]
    stems += analyze(linked) * WEIGHTS["anchors"] + analyze(text)
    entry.add_text(BODY, f"{stemmer}." + f" {stemmer}.".join(stems) if stems else "")
    for run in cjk_runs("\n".join([title, title, headings, linked, linked, text])):
        entry.add_text("cjk", run)


def _with_signed(text: str) -> str:
    """`C++` and the like are there as words too, behind the text."""
    found = signed_names(text)
    return f"{text}\n{' '.join(found)}" if found else text
