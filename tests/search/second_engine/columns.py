"""A page -> rows of SQLite: its facts, and its words as FTS5's columns.

Law: words are cut as everywhere (`ipmicra.search.tantivy.schema`), FTS5 only splits at spaces. A stem carries
its language before it, what is looked for together stands unstemmed beside it, and text without spaces is
there as single characters and pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import unquote

import tantivy

from ipmicra.model.page import Page
from ipmicra.search.keys import names_of, origin_of, site_name_of, text_key
from ipmicra.search.query.query_words import signed_names
from ipmicra.search.query.stemmers import stemmer_of
from ipmicra.search.tantivy.schema import cjk_runs, composed, filetypes_of

STEMMED = ("title", "headings", "anchors", "text")
WHOLE = tuple(f"whole_{name}" for name in STEMMED)
WEIGHTS = {"title": 8.0, "headings": 2.0, "anchors": 6.0, "text": 1.0}
COLUMNS = (*STEMMED, *WHOLE, "address", "characters")
RANKED = (
    f"bm25(words, {', '.join(str(WEIGHTS.get(name.removeprefix('whole_'), 1.0)) for name in COLUMNS)})"
)
SCHEMA = f"""
CREATE TABLE IF NOT EXISTS pages (
    id INTEGER PRIMARY KEY, similarity INTEGER NOT NULL, site INTEGER NOT NULL, links REAL NOT NULL,
    changed_at_s INTEGER, language TEXT NOT NULL, crawler TEXT NOT NULL,
    key INTEGER NOT NULL, canonical INTEGER NOT NULL, filetypes TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS names (
    name TEXT NOT NULL, page INTEGER NOT NULL, PRIMARY KEY (name, page)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS names_by_page ON names (page);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(
    {", ".join(COLUMNS)}, tokenize = "ascii tokenchars '_'");
CREATE VIRTUAL TABLE IF NOT EXISTS vocabulary USING fts5vocab(words, col);
"""
_SIGN = 1 << 63

Analyzers = Mapping[str, tantivy.TextAnalyzer]


def stem_of(word: str, stemmer: str, analyzers: Analyzers) -> str:
    """The word as it stands in the columns of pages in the stemmer's language; "" where it is none."""
    stems = [stem for stem in analyzers[stemmer].analyze(word) if not cjk_runs(stem)]
    return f"{stemmer}_{stems[0]}" if len(stems) == 1 else ""


def words_of(page: Page, anchors: Sequence[str], analyzers: Analyzers) -> list[str]:
    """In the order of `COLUMNS`."""
    linked = "\n".join(anchors)
    texts = [
        " ".join([composed(text), *signed_names(text)])
        for text in (page.title, "\n".join(page.headings), linked, f"{page.description}\n{page.text}")
    ]
    stemmer = stemmer_of(page.language)
    stemmed = [
        " ".join(f"{stemmer}_{stem}" for stem in analyzers[stemmer].analyze(text)) for text in texts
    ]
    whole = [" ".join(analyzers["words"].analyze(text)) for text in texts]
    address = " ".join(analyzers["words"].analyze(unquote(page.url.partition("//")[2])))
    runs = cjk_runs("\n".join(texts))
    characters = " ".join(term for run in runs for term in analyzers["characters"].analyze(run))
    return [*stemmed, *whole, address, characters]


def facts_of(
    page: Page, identity: int, crawler: str, links: float, site_key: int
) -> tuple[int, int, int, float, int | None, str, str, int, int, str]:
    """A row of `pages`; SQLite's integers have a sign."""
    similarity = (
        page.similarity_hash - 2 * _SIGN if page.similarity_hash >= _SIGN else page.similarity_hash
    )
    dated = page.modified_at_s or page.published_at_s
    own, canonical = text_key(page.url), text_key(page.canonical or page.url)
    types = f" {' '.join(filetypes_of(page))} "
    return identity, similarity, site_key, links, dated, page.language, crawler, own, canonical, types


def unsigned(similarity: int) -> int:
    return similarity % (2 * _SIGN)


def site_names(page: Page) -> list[str]:
    return [*names_of(site_name_of(page.url)), origin_of(page.url)]
