"""A second index behind the same contract: SQLite's FTS5 for finding, the ledger for what was integrated.

Law: as tantivy's index, it passes tests/search/conformance; only finding and spelling are its own. Ledger
first, engine second, then the ledger forgets what was out of date.
"""

from __future__ import annotations

import math
import sqlite3
import time
from pathlib import Path

import numpy as np

from ipmicra.carrier.package import Package
from ipmicra.model.page import Page
from ipmicra.model.search import Hit, SearchAnswer, SearchRequest
from ipmicra.search import catalogue_ingest
from ipmicra.search.authority import SiteAuthority
from ipmicra.search.catalogue import CatalogueEntry, PageCatalogue, StoredHit
from ipmicra.search.keys import site_name_of, text_key
from ipmicra.search.query_parser import ParsedQuery, parse_query
from ipmicra.search.ranking import Ranked, ScoredDocuments, ranked
from ipmicra.search.snippets import Marker
from ipmicra.search.tantivy import schema
from ipmicra.search.tantivy.spelling import edits
from tests.search.second_engine import columns
from tests.search.second_engine.query import Asked, Asking

DEPTH_MIN, DEPTH_MAX = 60, 1_000  # pages that are looked at for folding and ranking
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
        self._asking = Asking(self._analyzers)
        self._authority = SiteAuthority(self._ledger.links.authority())

    def integrate(self, package: Package, digest: str) -> int:
        return catalogue_ingest.integrate(self._ledger, package, digest)

    def purge(self, crawler: str) -> int:
        taken_out = catalogue_ingest.purge(self._ledger, crawler)
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
        words = columns.words_of(page, links.anchors(key), self._analyzers)
        facts = columns.facts_of(page, entry.identity, entry.crawler, lift, site_key)
        execute, marks = self._engine.execute, ",".join("?" * len(words))
        execute("INSERT INTO pages VALUES (?, ?, ?, ?, ?, ?, ?)", facts)
        execute(
            f"INSERT INTO words (rowid, {','.join(columns.COLUMNS)}) VALUES (?, {marks})",
            (entry.identity, *words),
        )
        names = [(name, entry.identity) for name in columns.site_names(page)]
        self._engine.executemany("INSERT OR IGNORE INTO names VALUES (?, ?)", names)

    def search(self, request: SearchRequest) -> SearchAnswer:
        start = time.perf_counter()
        question = parse_query(request.text)
        asked, until = self._asking.asked(question), request.offset + request.limit
        depth = min(max(3 * until, DEPTH_MIN), DEPTH_MAX)
        total = self._total(asked)
        order = ranked(self._candidates(asked, depth), request.per_site, until)
        remarks = list(question.remarks)
        if until > len(order) and total > depth:
            remarks.append(f"only the best {depth} of {total} pages were looked at")
        return SearchAnswer(
            hits=self._hits(order[request.offset :], question),
            total=total,
            took_ms=(time.perf_counter() - start) * 1000,
            partial=bool(remarks),
            remarks=remarks,
            did_you_mean="" if total else self._better(request.text, question),
        )

    def _total(self, asked: Asked) -> int:
        counting = f"SELECT count(*) FROM pages p WHERE {asked.condition}"
        return int(self._engine.execute(counting, asked.values).fetchone()[0])

    def _candidates(self, asked: Asked, depth: int) -> ScoredDocuments:
        scored = f"SELECT rowid, -{columns.RANKED} AS score FROM words WHERE words MATCH ?"
        rows = self._engine.execute(
            "SELECT p.id, coalesce(s.score, 0.0), p.similarity, p.site, p.links"
            f" FROM pages p LEFT JOIN ({scored}) s ON s.rowid = p.id WHERE {asked.condition}"
            " ORDER BY 2 DESC, 1 LIMIT ?",
            (asked.ranked_by, *asked.values, depth),
        ).fetchall()
        identity, score, similarity, site, links = (
            [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(5)]
        )
        sites = np.array(site, dtype=np.int64)
        return ScoredDocuments(
            identity=np.array(identity, dtype=np.int64),
            score=np.array(score, dtype=np.float64),
            similarity=np.array([columns.unsigned(one) for one in similarity], dtype=np.uint64),
            site=sites,
            links=np.array(links, dtype=np.float64),
            authority=self._authority.of(sites),
        )

    def _hits(self, order: list[Ranked], question: ParsedQuery) -> list[Hit]:
        shown = self._ledger.shown([result.identity for result in order])
        marker = Marker(question.words())
        return [self._hit(shown[result.identity], result, marker) for result in order]

    def _hit(self, shown: StoredHit, result: Ranked, marker: Marker) -> Hit:
        page = shown.facts
        text = "" if page.robots.nosnippet else shown.head + self._ledger.rest(shown.identity)
        return Hit(
            url=shown.url,
            site=site_name_of(shown.url),
            title=page.title or shown.url,
            snippet=marker.snippet(text, page.description) if text else "",
            language=page.language,
            crawler=shown.crawler,
            fetched_at_ms=shown.fetched_at_ms,
            published_at_s=page.published_at_s,
            score=result.score,
            alike=result.alike,
            more_from_site=result.more_from_site,
        )

    def _better(self, text: str, question: ParsedQuery) -> str:
        """The question with words that no page has replaced by the nearest that pages have."""
        better = text
        for word in question.words()[:_WORDS_DOUBTED]:
            terms = self._analyzers["words"].analyze(word)
            if len(terms) == 1 and len(terms[0]) > 2:
                better = better.replace(word, self._nearest(terms[0]) or word)
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
