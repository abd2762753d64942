"""The index on one machine: tantivy for finding, a ledger for what was integrated.

Law: one writer process at a time; any number may read. The order is: ledger transaction, engine commit,
then the ledger forgets what was out of date. A death in between repeats work and changes no answer, since
a page is put into the engine under its ledger number after whatever stood there was deleted.
"""

from __future__ import annotations

import math
import time
from pathlib import Path

import tantivy

from ipmicra.carrier.package import Package
from ipmicra.carrier.record import PageGone, PageMoved, PageSeen, Record
from ipmicra.errors import OperatorFault
from ipmicra.search import fields
from ipmicra.search.asking import Asking
from ipmicra.search.contract import Answer, Hit, Request
from ipmicra.search.ledger import Entry, Ledger, key_of
from ipmicra.search.question import Question, parse_question
from ipmicra.search.ranking import Candidate, Ranked, ranked
from ipmicra.search.snippets import snippet
from ipmicra.search.spelling import better_spelling

CANDIDATES_MIN = 100  # looked at for folding and re-ranking
CANDIDATES_MAX = 1_000
_CANDIDATES_A_RESULT = 3  # of which one or two may be folded away
LIMIT_MAX = 100
_WRITER_BYTES = 64 * 1024 * 1024
_OTHER_SITE_WEIGHT = 4.0  # a link from elsewhere says more than one from the same site


class TantivyIndex:
    """Open an index in `folder`; `writable` for one process at a time."""

    def __init__(self, folder: Path, writable: bool = False) -> None:
        (folder / "engine").mkdir(parents=True, exist_ok=True)
        self._schema = fields.schema()
        self._engine = tantivy.Index(self._schema, path=str(folder / "engine"))
        self._analyzers = fields.register_analyzers(self._engine)
        self._asking = Asking(self._schema, self._analyzers)
        self._ledger = Ledger(folder / "ledger.sqlite")
        self._writer = self._opened_writer(folder) if writable else None

    def integrate(self, package: Package, digest: str) -> int:
        header = package.header
        if self._ledger.holds(header.crawler, header.sequence, digest):
            return 0
        self._ledger.begin()
        try:
            changed = sum(self._take(record, header.crawler) for record in package.records)
            self._ledger.remember_package(header.crawler, header.sequence, digest)
        except BaseException:
            self._ledger.rollback()
            raise
        self._ledger.commit()
        return changed

    def commit(self) -> None:
        assert self._writer is not None, "opened for reading"
        renewed = []
        for entry in self._ledger.dirty():
            self._writer.delete_documents_by_term("id", entry.identity)
            if entry.page is not None:
                self._writer.add_document(self._document(entry))
            renewed.append(entry.identity)
        if not renewed:
            return
        self._writer.commit()
        self._ledger.begin()
        self._ledger.clean(renewed)
        self._ledger.commit()
        self._engine.reload()

    def search(self, request: Request) -> Answer:
        start = time.perf_counter()
        question = parse_question(request.text)
        searcher = self._engine.searcher()
        limit, offset = min(max(request.limit, 0), LIMIT_MAX), max(request.offset, 0)
        depth = min(max(_CANDIDATES_A_RESULT * (offset + limit), CANDIDATES_MIN), CANDIDATES_MAX)
        found = searcher.search(self._asking.query(question), depth)
        candidates = _candidates(searcher, found)
        order = ranked(candidates, request.per_site)
        hits = self._hits(order[offset : offset + limit], question)
        total = int(found.count or 0)  # type: ignore[attr-defined]  # missing in the stubs
        remarks = list(question.remarks)
        if offset + limit > len(order) and total > depth:
            remarks.append(f"only the best {depth} of {total} pages were looked at")
        return Answer(
            hits=hits,
            total=total,
            took_ms=(time.perf_counter() - start) * 1000,
            partial=bool(remarks),
            remarks=remarks,
            did_you_mean=better_spelling(
                request.text, question, searcher, self._analyzers["words"], total
            ),
        )

    def page_count(self) -> int:
        return int(self._engine.searcher().num_docs)

    def reload(self) -> None:
        """See what another process has committed."""
        self._engine.reload()

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

    def _take(self, record: Record, crawler: str) -> bool:
        match record:
            case PageSeen():
                page = None if record.page.robots.noindex else record.page
            case PageGone() | PageMoved():
                page = None
            case _:
                return False
        return self._ledger.put(record.url, crawler, record.visit, record.fetched_at_ms, page)

    def _document(self, entry: Entry) -> tantivy.Document:
        assert entry.page is not None
        other_sites, own_pages = self._ledger.linking(entry.url)
        return fields.document(
            entry.page,
            entry.identity,
            entry.crawler,
            self._ledger.anchors(entry.url),
            math.log1p(_OTHER_SITE_WEIGHT * other_sites + own_pages),
            key_of(fields.site_of(entry.url)),
        )

    def _hits(self, order: list[Ranked], question: Question) -> list[Hit]:
        entries = self._ledger.entries([result.identity for result in order])
        words = question.words()
        return [
            _hit(entries[result.identity], result, words)
            for result in order
            if result.identity in entries
        ]


def _candidates(searcher: tantivy.Searcher, found: tantivy.SearchResult) -> list[Candidate]:
    scores = [score for score, _ in found.hits]
    addresses = [address for _, address in found.hits]
    columns = [
        searcher.fast_field_values(name, addresses)
        for name in ("id", "similarity", "site_key", "authority")
    ]
    return [
        Candidate(int(identity or 0), score, int(similarity or 0), int(site or 0), float(authority or 0))
        for score, identity, similarity, site, authority in zip(scores, *columns, strict=True)
    ]


def _hit(entry: Entry, result: Ranked, words: list[str]) -> Hit:
    page = entry.page
    assert page is not None
    shown = "" if page.robots.nosnippet else snippet(page.text, words, page.description)
    return Hit(
        url=entry.url,
        site=fields.site_of(entry.url),
        title=page.title or entry.url,
        snippet=shown,
        language=page.language,
        crawler=entry.crawler,
        fetched_at_ms=entry.fetched_at_ms,
        published_at_s=page.published_at_s,
        score=result.score,
        alike=result.alike,
        more_from_site=result.more_from_site,
    )
