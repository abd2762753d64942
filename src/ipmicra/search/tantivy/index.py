"""The index on one machine: tantivy for searching, a catalogue of what was integrated.

Invariant: one writer process at a time; any number may read. The order is: catalogue transaction, engine
commit and sync of its folder, then the catalogue clears its list of outdated pages and notes the engine's
commit. A kill or a power cut in between repeats work and changes no answer, since a page is added to the
engine under its catalogue number after the old entry was deleted. At opening, an engine that is behind the
commit noted is filled from the catalogue.
"""

from __future__ import annotations

import logging
import math
import shutil
import sqlite3
import time
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path

import msgspec
import numpy as np
import tantivy

from ipmicra.carrier.durable import make_folder, sync_folder
from ipmicra.carrier.package import Package
from ipmicra.errors import HostFault, OperatorFault
from ipmicra.model.page import Page
from ipmicra.model.search import SearchAnswer, SearchRequest
from ipmicra.search import rebuild
from ipmicra.search.catalogue import ingest
from ipmicra.search.catalogue.page_catalogue import CatalogueEntry, PageCatalogue
from ipmicra.search.contract import IndexDamaged, SeenPage
from ipmicra.search.keys import site_name_of, text_key
from ipmicra.search.query.query_parser import ParsedQuery, QueryWords
from ipmicra.search.query.relaxation import Form
from ipmicra.search.query.stemmers import stemmer_of
from ipmicra.search.ranking.answer_builder import EngineMatches, answer
from ipmicra.search.ranking.authority import SiteAuthority
from ipmicra.search.ranking.page_names import PageNames, names_of_page
from ipmicra.search.ranking.ranking import ScoredDocuments
from ipmicra.search.tantivy import schema as tantivy_schema
from ipmicra.search.tantivy.query_builder import QueryBuilder
from ipmicra.search.tantivy.spelling import Spelling

ENGINE_FOLDER = (
    "engine-2"  # under the index; the number changes with the fields, and an older one is removed
)
_OLDER_ENGINES = ("engine",)
ANSWERS_REMEMBERED = 2_000  # some 5 KB each, until something is committed
_WRITER_BYTES = 64 * 1024 * 1024
_OTHER_SITE_WEIGHT = 4.0  # a link from elsewhere says more than one from the same site

_log = logging.getLogger(__name__)


class TantivyIndex:
    """Open an index in `folder`; `writable` for one process at a time."""

    def __init__(self, folder: Path, writable: bool = False, fills: bool = True) -> None:
        self._folder = folder
        self._schema = tantivy_schema.schema()
        self._meta = folder / ENGINE_FOLDER / "meta.json"
        self._open()
        self._writer = self._opened_writer(folder) if writable else None
        if writable:
            self._bring_up_to_date()
        elif fills and self._is_to_be_filled():
            self._let_a_writer_fill_it()

    @property
    def catalogue(self) -> PageCatalogue:
        return self._catalogue

    def _open(self) -> None:
        self._engine = _opened_engine(self._folder, self._schema)
        self._analyzers = tantivy_schema.register_analyzers(self._engine)
        self._catalogue = PageCatalogue(self._folder / "ledger.sqlite")
        self._opened = self._generation()
        try:
            self._see()
        except (ValueError, sqlite3.DatabaseError) as error:
            self._catalogue.close()
            raise IndexDamaged(f"reading the index {self._folder}: {error}") from error

    def _generation(self) -> int:
        """Differs where an index that was made anew has taken the folder's place."""
        try:
            return (self._folder / "ledger.sqlite").stat().st_ino
        except FileNotFoundError:  # in the moment of the swap
            return 0

    def integrate(self, package: Package, digest: str) -> int:
        return ingest.integrate(self._catalogue, package, digest)

    def _is_to_be_filled(self) -> bool:
        return self._is_behind() or self._catalogue.has_dirty()

    def _is_behind(self) -> bool:
        """The engine is missing, or it or the catalogue is older than the other, and there are pages."""
        if not self._searcher.num_docs:
            return self._catalogue.page_count() > 0
        is_older = _committed_opstamp(self._meta) < self._catalogue.engine_opstamp()
        return is_older or self._catalogue.lacks_names()

    def _bring_up_to_date(self) -> None:
        if self._is_behind():
            _log.info("the index is filled from its catalogue", extra={"folder": str(self._folder)})
            self._catalogue.renew_all()
        self.commit()
        for name in _OLDER_ENGINES:
            shutil.rmtree(self._folder / name, ignore_errors=True)

    def _let_a_writer_fill_it(self) -> None:
        """A reader may come first after an upgrade or a power cut. Another process that writes fills it."""
        try:
            with rebuild.writing(self._folder, patience_s=0.0):
                TantivyIndex(self._folder, writable=True).close()
        except (OperatorFault, HostFault, TimeoutError):
            return
        self.reload()

    def commit(self) -> None:
        assert self._writer is not None, "opened for reading"
        renewed = []
        named: list[tuple[int, PageNames]] = []
        for entry in self._catalogue.dirty():
            self._writer.delete_documents_by_term("id", entry.identity)
            if entry.page is not None and (names := self._add(entry)) is not None:
                named.append((entry.identity, names))
            renewed.append(entry.identity)
        if not renewed:
            return
        self._writer.commit()
        sync_folder(self._meta.parent)  # the engine renames its list of segments, and does not sync that
        self._catalogue.begin()
        self._catalogue.clean(renewed)
        self._catalogue.note_engine(_committed_opstamp(self._meta))
        self._catalogue.put_names(named)
        if self._catalogue.links.pairs_changed():
            self._catalogue.links.weigh_sites()
        self._catalogue.commit()
        self.reload()

    def _add(self, entry: CatalogueEntry) -> PageNames | None:
        """One page that the engine refuses must not keep all others out: None for it."""
        assert self._writer is not None
        try:
            names, document = self._document(entry)
            self._writer.add_document(document)
        except (ValueError, OverflowError, TypeError) as error:
            fields = {"url": entry.url[:200], "crawler": entry.crawler, "why": str(error)[:200]}
            _log.error("a page cannot be indexed", extra=fields)
            return None
        return names

    def page(self, url: str) -> Page | None:
        return self._catalogue.page(url)

    def seen(self, url: str) -> SeenPage | None:
        entry = self._catalogue.entry(url)
        if entry is None or entry.page is None:
            return None
        return SeenPage(entry.page, entry.crawler, entry.fetched_at_ms)

    def search(self, request: SearchRequest) -> SearchAnswer:
        start = time.perf_counter()
        answered = self._answered(request)
        return msgspec.structs.replace(answered, took_ms=(time.perf_counter() - start) * 1000)

    def find(self, form: Form, depth: int) -> EngineMatches:
        searcher = self._searcher
        found = searcher.search(self._asking.query(form.asked, form.whole), depth, count=True)
        total = int(found.count or 0)  # type: ignore[attr-defined]  # missing in the stubs
        return EngineMatches(self._candidates(searcher, found), total)

    def better(self, text: str, question: ParsedQuery) -> str:
        return self._spelling(self._searcher).better(text, question)

    def rarity(self, word: QueryWords) -> float:
        return self._asking.rarity(word)

    def is_known(self, word: QueryWords) -> bool:
        return self._asking.is_known(word)

    def present(self, words: Sequence[QueryWords], identities: Sequence[int]) -> dict[int, int]:
        return self._asking.present(words, identities)

    def near(self, words: Sequence[QueryWords], identities: Sequence[int]) -> dict[int, int]:
        return self._asking.near(words, identities)

    def stems(self, stemmer: str, text: str) -> list[str]:
        return self._asking.stems(stemmer, text)

    def page_count(self) -> int:
        return self._searcher.num_docs

    def package_count(self) -> int:
        return self._catalogue.package_count()

    def reload(self) -> None:
        """See what has been committed, be it by another process; what is remembered is forgotten then."""
        if self._writer is None and self._generation() not in (0, self._opened):
            replaced = self._catalogue
            self._open()
            replaced.close()
        elif self._stamp() != self._seen:
            self._engine.reload()
            self._see()

    def _see(self) -> None:
        """Open the committed state: a searcher, site authority, and an empty cache of answers."""
        self._seen = self._stamp()  # before opening: a later change is noticed at the next check
        self._searcher = self._engine.searcher()
        self._asking = QueryBuilder(self._schema, self._analyzers, self._searcher)
        self._authority = SiteAuthority(self._catalogue.links.authority())
        self._answered = lru_cache(ANSWERS_REMEMBERED)(partial(answer, self, self._catalogue))

    def _stamp(self) -> tuple[int, ...]:
        """A stamp that changes with every commit of the engine or the catalogue."""
        there = self._meta.stat() if self._meta.exists() else None
        changed = (there.st_ino, there.st_mtime_ns) if there else ()
        return (*changed, *self._catalogue.changes())

    def close(self) -> None:
        if self._writer is not None:
            self._writer.wait_merging_threads()
        self._catalogue.close()

    def _opened_writer(self, folder: Path) -> tantivy.IndexWriter:
        try:
            return self._engine.writer(heap_size=_WRITER_BYTES, num_threads=1)
        except ValueError as error:
            self._catalogue.close()
            raise OperatorFault(
                f"opening the index {folder} for writing: {error}; let the other ipmicra process finish"
            ) from error

    def purge(self, crawler: str) -> int:
        taken_out = ingest.purge(self._catalogue, crawler)
        self.commit()
        return taken_out

    def wanted(self, crawler: str) -> list[str]:
        return self._catalogue.wanted(crawler)

    def _document(self, entry: CatalogueEntry) -> tuple[PageNames, tantivy.Document]:
        assert entry.page is not None
        links, key, site_key = (
            self._catalogue.links,
            text_key(entry.url),
            text_key(site_name_of(entry.url)),
        )
        other_sites, own_pages = links.linking(key, site_key)
        authority = math.log1p(_OTHER_SITE_WEIGHT * other_sites + own_pages)
        anchors, stemmer = links.anchors(key), stemmer_of(entry.page.language)
        names = names_of_page(entry.page, anchors, stemmer, self._analyzers[stemmer].analyze)
        document = tantivy_schema.document(
            entry.page,
            entry.identity,
            entry.crawler,
            anchors,
            authority,
            site_key,
            self._analyzers,
            names,
        )
        return names, document

    def _spelling(self, searcher: tantivy.Searcher) -> Spelling:
        return Spelling(self._schema, searcher, self._analyzers["words"], self._texts)

    def _texts(self, identities: list[int]) -> Iterator[str]:
        return (f"{one.facts.title}\n{one.head}" for one in self._catalogue.shown(identities).values())

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
            key=np.array(column("key", addresses), dtype=np.int64),
            canonical=np.array(column("canonical", addresses), dtype=np.int64),
        )


class _EngineMeta(msgspec.Struct):
    opstamp: int = 0


def _committed_opstamp(meta: Path) -> int:
    """Counts up with each change of the engine; 0 where it has none."""
    try:
        return msgspec.json.decode(meta.read_bytes(), type=_EngineMeta).opstamp
    except FileNotFoundError:
        return 0
    except msgspec.MsgspecError as error:
        raise IndexDamaged(f"reading {meta}: {error}") from error


def _opened_engine(folder: Path, schema: tantivy.Schema) -> tantivy.Index:
    try:
        make_folder(folder / ENGINE_FOLDER)
        return tantivy.Index(schema, path=str(folder / ENGINE_FOLDER))
    except (ValueError, FileExistsError, NotADirectoryError) as error:
        raise IndexDamaged(f"opening the index {folder}: {error}") from error
    except OSError as error:
        raise HostFault(f"opening the index {folder}: {error}") from error
