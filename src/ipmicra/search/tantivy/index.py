"""The index on one machine: tantivy for finding, a ledger for what was integrated.

Law: one writer process at a time; any number may read. The order is: ledger transaction, engine commit,
then the ledger forgets what was out of date. A death in between repeats work and changes no answer, since
a page is put into the engine under its ledger number after whatever stood there was deleted.
"""

from __future__ import annotations

import logging
import math
import sqlite3
import time
from collections.abc import Iterator
from functools import lru_cache, partial
from pathlib import Path

import msgspec
import numpy as np
import tantivy

from ipmicra.carrier.package import Package
from ipmicra.errors import HostFault, OperatorFault
from ipmicra.model.page import Page
from ipmicra.model.search import Hit, SearchAnswer, SearchRequest
from ipmicra.search import catalogue_ingest
from ipmicra.search.authority import SiteAuthority
from ipmicra.search.catalogue import CatalogueEntry, PageCatalogue, StoredHit
from ipmicra.search.contract import IndexDamaged
from ipmicra.search.keys import site_name_of, text_key
from ipmicra.search.page_codec import HEAD_CHARACTERS
from ipmicra.search.query_parser import ParsedQuery, parse_query
from ipmicra.search.ranking import Ranked, ScoredDocuments, ranked
from ipmicra.search.snippets import NOTHING, Excerpted, Marker
from ipmicra.search.tantivy import schema as tantivy_schema
from ipmicra.search.tantivy.query_builder import QueryBuilder
from ipmicra.search.tantivy.spelling import Spelling

CANDIDATES_MIN = 60  # looked at for folding and re-ranking
CANDIDATES_MAX = 1_000
_CANDIDATES_A_RESULT = 3  # of which one or two may be folded away
LIMIT_MAX = 100
ANSWERS_REMEMBERED = 2_000  # some 5 KB each, until something is committed
_WRITER_BYTES = 64 * 1024 * 1024
_OTHER_SITE_WEIGHT = 4.0  # a link from elsewhere says more than one from the same site

_log = logging.getLogger(__name__)


class TantivyIndex:
    """Open an index in `folder`; `writable` for one process at a time."""

    def __init__(self, folder: Path, writable: bool = False) -> None:
        self._folder = folder
        self._schema = tantivy_schema.schema()
        self._meta = folder / "engine" / "meta.json"
        self._open()
        self._writer = self._opened_writer(folder) if writable else None

    def _open(self) -> None:
        self._engine = _opened_engine(self._folder, self._schema)
        self._analyzers = tantivy_schema.register_analyzers(self._engine)
        self._ledger = PageCatalogue(self._folder / "ledger.sqlite")
        self._opened = self._generation()
        try:
            self._see()
        except (ValueError, sqlite3.DatabaseError) as error:
            self._ledger.close()
            raise IndexDamaged(f"reading the index {self._folder}: {error}") from error

    def _generation(self) -> int:
        """Differs where an index that was made anew has taken the folder's place."""
        try:
            return (self._folder / "ledger.sqlite").stat().st_ino
        except FileNotFoundError:  # in the moment of the swap
            return 0

    def integrate(self, package: Package, digest: str) -> int:
        return catalogue_ingest.integrate(self._ledger, package, digest)

    def commit(self) -> None:
        assert self._writer is not None, "opened for reading"
        renewed = []
        for entry in self._ledger.dirty():
            self._writer.delete_documents_by_term("id", entry.identity)
            if entry.page is not None:
                self._add(entry)
            renewed.append(entry.identity)
        if not renewed:
            return
        self._writer.commit()
        self._ledger.begin()
        self._ledger.clean(renewed)
        if self._ledger.links.pairs_changed():
            self._ledger.links.weigh_sites()
        self._ledger.commit()
        self.reload()

    def _add(self, entry: CatalogueEntry) -> None:
        """One page that the engine refuses must not keep all others out."""
        assert self._writer is not None
        try:
            self._writer.add_document(self._document(entry))
        except (ValueError, OverflowError, TypeError) as error:
            told = {"url": entry.url[:200], "crawler": entry.crawler, "why": str(error)[:200]}
            _log.error("a page cannot be indexed", extra=told)

    def page(self, url: str) -> Page | None:
        return self._ledger.page(url)

    def search(self, request: SearchRequest) -> SearchAnswer:
        start = time.perf_counter()
        answer = self._answered(request)
        return msgspec.structs.replace(answer, took_ms=(time.perf_counter() - start) * 1000)

    def _answer(self, request: SearchRequest) -> SearchAnswer:
        question = parse_query(request.text)
        searcher, asking = self._searcher, self._asking
        limit, offset = min(max(request.limit, 0), LIMIT_MAX), max(request.offset, 0)
        depth = min(max(_CANDIDATES_A_RESULT * (offset + limit), CANDIDATES_MIN), CANDIDATES_MAX)
        found = searcher.search(asking.query(question), depth)
        order = ranked(self._candidates(searcher, found), request.per_site, offset + limit)
        total = int(found.count or 0)  # type: ignore[attr-defined]  # missing in the stubs
        remarks = list(question.remarks)
        if offset + limit > len(order) and total > depth:
            remarks.append(f"only the best {depth} of {total} pages were looked at")
        better = "" if total else self._spelling(searcher).better(request.text, question)
        return SearchAnswer(
            hits=self._hits(order[offset:], question),
            total=total,
            took_ms=0.0,
            partial=bool(remarks),
            remarks=remarks,
            did_you_mean=better,
        )

    def page_count(self) -> int:
        return self._searcher.num_docs

    def package_count(self) -> int:
        return self._ledger.package_count()

    def reload(self) -> None:
        """See what has been committed, be it by another process; what is remembered is forgotten then."""
        if self._writer is None and self._generation() not in (0, self._opened):
            replaced = self._ledger
            self._open()
            replaced.close()
        elif self._stamp() != self._seen:
            self._engine.reload()
            self._see()

    def _see(self) -> None:
        """What is committed, questions to it, how much its sites count, and no answer yet."""
        self._seen = self._stamp()  # before looking: what changes meanwhile is looked at again
        self._searcher = self._engine.searcher()
        self._asking = QueryBuilder(self._schema, self._analyzers, self._searcher)
        self._authority = SiteAuthority(self._ledger.links.authority())
        self._answered = lru_cache(ANSWERS_REMEMBERED)(self._answer)

    def _stamp(self) -> tuple[int, ...]:
        """Differs where the engine or the ledger was committed to since."""
        there = self._meta.stat() if self._meta.exists() else None
        changed = (there.st_ino, there.st_mtime_ns) if there else ()
        return (*changed, *self._ledger.changes())

    def close(self) -> None:
        if self._writer is not None:
            self._writer.wait_merging_threads()
        self._ledger.close()

    def _opened_writer(self, folder: Path) -> tantivy.IndexWriter:
        try:
            return self._engine.writer(heap_size=_WRITER_BYTES, num_threads=1)
        except ValueError as error:
            self._ledger.close()
            raise OperatorFault(
                f"opening the index {folder} for writing: {error}; let the other ipmicra process finish"
            ) from error

    def purge(self, crawler: str) -> int:
        taken_out = catalogue_ingest.purge(self._ledger, crawler)
        self.commit()
        return taken_out

    def wanted(self, crawler: str) -> list[str]:
        return self._ledger.wanted(crawler)

    def _document(self, entry: CatalogueEntry) -> tantivy.Document:
        assert entry.page is not None
        links, key, site_key = self._ledger.links, text_key(entry.url), text_key(site_name_of(entry.url))
        other_sites, own_pages = links.linking(key, site_key)
        authority = math.log1p(_OTHER_SITE_WEIGHT * other_sites + own_pages)
        return tantivy_schema.document(
            entry.page, entry.identity, entry.crawler, links.anchors(key), authority, site_key
        )

    def _spelling(self, searcher: tantivy.Searcher) -> Spelling:
        return Spelling(self._schema, searcher, self._analyzers["words"], self._texts)

    def _texts(self, identities: list[int]) -> Iterator[str]:
        return (f"{one.facts.title}\n{one.head}" for one in self._ledger.shown(identities).values())

    def _hits(self, order: list[Ranked], question: ParsedQuery) -> list[Hit]:
        shown = self._ledger.shown([result.identity for result in order])
        results = [(result, shown[result.identity]) for result in order if result.identity in shown]
        snippets = Marker(question.words()).snippets([self._excerpted(page) for _, page in results])
        return [
            _hit(page, result, snippet)
            for (result, page), snippet in zip(results, snippets, strict=True)
        ]

    def _excerpted(self, page: StoredHit) -> Excerpted:
        if page.facts.robots.nosnippet:
            return NOTHING
        is_whole = len(page.head) < HEAD_CHARACTERS
        rest = None if is_whole else partial(self._ledger.rest, page.identity)
        return Excerpted(page.head, page.facts.description, rest)

    def _candidates(self, searcher: tantivy.Searcher, found: tantivy.SearchResult) -> ScoredDocuments:
        hits = found.hits  # made anew each time it is asked for
        addresses = [address for _, address in hits]
        column = searcher.fast_field_values  # every page has each of them
        site = np.array(column("site_key", addresses), dtype=np.int64)
        return ScoredDocuments(
            identity=np.array(column("id", addresses), dtype=np.int64),
            score=np.array([score for score, _ in hits], dtype=np.float64),
            similarity=np.array(column("similarity", addresses), dtype=np.uint64),
            site=site,
            links=np.array(column("authority", addresses), dtype=np.float64),
            authority=self._authority.of(site),
        )


def _opened_engine(folder: Path, schema: tantivy.Schema) -> tantivy.Index:
    try:
        (folder / "engine").mkdir(parents=True, exist_ok=True)
        return tantivy.Index(schema, path=str(folder / "engine"))
    except OSError as error:
        raise HostFault(f"opening the index {folder}: {error}") from error
    except ValueError as error:
        raise IndexDamaged(f"opening the index {folder}: {error}") from error


def _hit(page: StoredHit, result: Ranked, snippet: str) -> Hit:
    facts = page.facts
    return Hit(
        url=page.url,
        site=site_name_of(page.url),
        title=facts.title or page.url,
        snippet=snippet,
        language=facts.language,
        crawler=page.crawler,
        fetched_at_ms=page.fetched_at_ms,
        published_at_s=facts.published_at_s,
        score=result.score,
        alike=result.alike,
        more_from_site=result.more_from_site,
    )
