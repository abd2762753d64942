"""A second index behind the same contract: SQLite's FTS5 for finding, the ledger for what was integrated.

Law: as tantivy's index, it passes tests/search/conformance; only finding and spelling are its own. Ledger
first, engine second, then the ledger forgets what was out of date.
"""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from ipmicra.carrier.package import Package
from ipmicra.model.page import Page
from ipmicra.model.search import SearchAnswer, SearchRequest
from ipmicra.search.catalogue import ingest
from ipmicra.search.catalogue.page_catalogue import CatalogueEntry, PageCatalogue
from ipmicra.search.contract import SeenPage
from ipmicra.search.keys import site_name_of, text_key
from ipmicra.search.query.query_parser import All, ParsedQuery, QueryWords
from ipmicra.search.query.relaxation import Form
from ipmicra.search.query.stemmers import stemmer_of
from ipmicra.search.ranking.answer_builder import EngineMatches, answer
from ipmicra.search.ranking.authority import SiteAuthority
from ipmicra.search.ranking.page_names import names_of_page
from ipmicra.search.ranking.ranking import ScoredDocuments
from ipmicra.search.ranking.signals import rarity
from ipmicra.search.tantivy import schema
from ipmicra.search.tantivy.spelling import edits
from tests.search.second_engine import columns
from tests.search.second_engine.query import Asked, SecondEngineQuery

_WORDS_DOUBTED = 4
_WORDS_LOOKED_AT = 50_000  # of the vocabulary, for one that was meant


class Fts5Index:
    """Open an index in `folder`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._ledger = PageCatalogue(folder / "ledger.sqlite")
        self._engine = sqlite3.connect(folder / "words.sqlite", isolation_level=None)
        self._engine.executescript(f"PRAGMA journal_mode = WAL; {columns.SCHEMA}")
        self._analyzers = schema.analyzers()
        self._asking = SecondEngineQuery(self._analyzers)
        self._authority = SiteAuthority(self._ledger.links.authority())

    def integrate(self, package: Package, digest: str) -> int:
        return ingest.integrate(self._ledger, package, digest)

    def purge(self, crawler: str) -> int:
        taken_out = ingest.purge(self._ledger, crawler)
        self.commit()
        return taken_out

    def package_count(self) -> int:
        return self._ledger.package_count()

    def wanted(self, crawler: str) -> list[str]:
        return self._ledger.wanted(crawler)

    def page(self, url: str) -> Page | None:
        return self._ledger.page(url)

    def commit(self) -> None:
        self._engine.execute("BEGIN IMMEDIATE")
        renewed = []
        for entry in self._ledger.dirty():
            self._take_out(entry.identity)
            if entry.page is not None:
                self._put(entry)
            renewed.append(entry.identity)
        self._engine.execute("COMMIT")
        self._ledger.begin()
        self._ledger.clean(renewed)
        if self._ledger.links.pairs_changed():
            self._ledger.links.weigh_sites()
        self._ledger.commit()
        self._authority = SiteAuthority(self._ledger.links.authority())

    def _take_out(self, identity: int) -> None:
        for table, column in (("pages", "id"), ("names", "page"), ("words", "rowid")):
            self._engine.execute(f"DELETE FROM {table} WHERE {column} = ?", (identity,))

    def _put(self, entry: CatalogueEntry) -> None:
        page, links = entry.page, self._ledger.links
        assert page is not None
        key, site_key = text_key(entry.url), text_key(site_name_of(entry.url))
        other_sites, own_pages = links.linking(key, site_key)
        lift = math.log1p(4 * other_sites + own_pages)
        anchors, stemmer = links.anchors(key), stemmer_of(page.language)
        words = columns.words_of(page, anchors, self._analyzers)
        names = names_of_page(page, anchors, stemmer, self._analyzers[stemmer].analyze)
        self._ledger.put_names([(entry.identity, names)])
        facts = columns.facts_of(page, entry.identity, entry.crawler, lift, site_key)
        execute, marks = self._engine.execute, ",".join("?" * len(words))
        execute("INSERT INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", facts)
        execute(
            f"INSERT INTO words (rowid, {','.join(columns.COLUMNS)}) VALUES (?, {marks})",
            (entry.identity, *words),
        )
        sites = [(name, entry.identity) for name in columns.site_names(page)]
        self._engine.executemany("INSERT OR IGNORE INTO names VALUES (?, ?)", sites)

    def seen(self, url: str) -> SeenPage | None:
        entry = self._ledger.entry(url)
        if entry is None or entry.page is None:
            return None
        return SeenPage(entry.page, entry.crawler, entry.fetched_at_ms)

    def search(self, request: SearchRequest) -> SearchAnswer:
        return answer(self, self._ledger, request)

    def find(self, form: Form, depth: int) -> EngineMatches:
        asked = self._asking.asked(form.asked)
        return EngineMatches(self._candidates(asked, depth), self._total(asked))

    def rarity(self, word: QueryWords) -> float:
        return rarity(self.page_count(), self._total(self._asking.asked(All((word,)))))

    def is_known(self, word: QueryWords) -> bool:
        return self._total(self._asking.asked(All((word,)))) > 0

    def present(self, words: Sequence[QueryWords], identities: Sequence[int]) -> dict[int, int]:
        has = dict.fromkeys(identities, 0)
        for bit, word in enumerate(words):
            asked = self._asking.asked(All((word,)))
            statement = f"SELECT p.id FROM pages p WHERE {asked.condition}"
            for (identity,) in self._engine.execute(statement, asked.values):
                if identity in has:
                    has[identity] |= 1 << bit
        return has

    def near(self, words: Sequence[QueryWords], identities: Sequence[int]) -> dict[int, int]:
        near = dict.fromkeys(identities, 0)
        for bit, (one, other) in enumerate(pairwise(words)):
            terms = [self._analyzers["words"].analyze(word.text) for word in (one, other)]
            if len(terms[0]) != 1 or len(terms[1]) != 1:
                continue
            asked_near = f'{{whole_text}} : NEAR("{terms[0][0]}" "{terms[1][0]}", 3)'
            statement = "SELECT rowid FROM words WHERE words MATCH ?"
            for (identity,) in self._engine.execute(statement, (asked_near,)):
                if identity in near:
                    near[identity] |= 1 << bit
        return near

    def stems(self, stemmer: str, text: str) -> list[str]:
        return self._analyzers[stemmer].analyze(text)

    def _total(self, asked: Asked) -> int:
        counting = f"SELECT count(*) FROM pages p WHERE {asked.condition}"
        return int(self._engine.execute(counting, asked.values).fetchone()[0])

    def _candidates(self, asked: Asked, depth: int) -> ScoredDocuments:
        scored = f"SELECT rowid, -{columns.RANKED} AS score FROM words WHERE words MATCH ?"
        rows = self._engine.execute(
            "SELECT p.id, coalesce(s.score, 0.0), p.similarity, p.site, p.links, p.key, p.canonical"
            f" FROM pages p LEFT JOIN ({scored}) s ON s.rowid = p.id WHERE {asked.condition}"
            " ORDER BY 2 DESC, 1 LIMIT ?",
            (asked.ranked_by, *asked.values, depth),
        ).fetchall()
        identity, score, similarity, site, links, key, canonical = (
            [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(7)]
        )
        sites = np.array(site, dtype=np.int64)
        return ScoredDocuments(
            identity=np.array(identity, dtype=np.int64),
            score=np.array(score, dtype=np.float64),
            similarity=np.array([columns.unsigned(one) for one in similarity], dtype=np.uint64),
            site=sites,
            links=np.array(links, dtype=np.float64),
            authority=self._authority.of(sites),
            key=np.array(key, dtype=np.int64),
            canonical=np.array(canonical, dtype=np.int64),
        )

    def better(self, text: str, question: ParsedQuery) -> str:
        """The question with words that no page has replaced by the nearest that pages have."""
        better = text
        for word in question.plain_words()[:_WORDS_DOUBTED]:
            for piece in re.findall(r"[^\W_]+", word):
                terms = self._analyzers["words"].analyze(piece)
                if len(terms) == 1 and len(terms[0]) > 2:
                    better = better.replace(piece, self._nearest(terms[0]) or piece)
        return better if better != text else ""

    def _nearest(self, term: str) -> str:
        most = 1 if len(term) < 6 else 2
        spelt = self._engine.execute(
            "SELECT term, sum(doc) FROM vocabulary WHERE col IN ('whole_title', 'whole_text')"
            " AND length(term) BETWEEN ? AND ? GROUP BY term LIMIT ?",
            (len(term) - most, len(term) + most, _WORDS_LOOKED_AT),
        )
        near = [(edits(term, other, most), -pages, other) for other, pages in spelt]
        best = min(near, default=(most + 1, 0, ""))
        return best[2] if 0 < best[0] <= most else ""

    def page_count(self) -> int:
        return int(self._engine.execute("SELECT count(*) FROM pages").fetchone()[0])

    def reload(self) -> None:
        """SQLite shows each reader the latest commit."""

    def close(self) -> None:
        self._engine.close()
        self._ledger.close()
