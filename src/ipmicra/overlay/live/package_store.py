"""Packages, our own and replicas for other peers -> files, and a search index over all of them.

Invariant: a package is stored before it is acknowledged: synced, listed under its sites, and searchable.
Storing the same package twice changes nothing.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

from ipmicra.carrier.durable import make_folder, sync_folder, write_durably
from ipmicra.carrier.package import Package, PackageRefused, digest_of, pack, unpack
from ipmicra.carrier.page_delta import changed_urls, resolve_all
from ipmicra.carrier.record_queries import NO_SITE, links_elsewhere, site_about
from ipmicra.model.records import (
    FetchMeasurement,
    PageChanged,
    PageGone,
    PageMoved,
    PageSeen,
    VisitFailed,
)
from ipmicra.model.search import SearchAnswer, SearchRequest
from ipmicra.model.urls import Normaliser, Site, site_of
from ipmicra.search.factory import INDEX_FOLDER, open_index
from ipmicra.search.recovery import open_or_set_aside

_log = logging.getLogger(__name__)

PACKAGES_FOLDER = "packages"
LIST_FILE = "packages.sqlite"
_TABLES = """
CREATE TABLE IF NOT EXISTS about (
    site TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (site, digest)) WITHOUT ROWID;
"""

StoredVisit: TypeAlias = PageSeen | PageChanged | PageGone | PageMoved | VisitFailed


class PeerPackageStore:
    """The packages of one peer. Safe for threads: one at a time. Close it."""

    def __init__(self, folder: Path) -> None:
        self._packages, self._index_folder = folder / PACKAGES_FOLDER, folder / INDEX_FOLDER
        make_folder(self._packages)
        self._list = sqlite3.connect(folder / LIST_FILE, isolation_level=None, check_same_thread=False)
        self._list.executescript(f"PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; {_TABLES}")
        open_or_set_aside(self._index_folder)
        self._index = open_index(self._index_folder)
        self._normaliser = Normaliser()
        self._lock = threading.Lock()
        self._fill_index()

    def close(self) -> None:
        self._index.close()
        self._list.close()

    def complete_package(self, data: bytes) -> bytes:
        """The package with every page complete: replicas and successors need no earlier package."""
        package = unpack(data)
        changed = changed_urls([package])
        if not changed:
            return data
        with self._lock:
            before = [record for site in self._sites_in(package) for record in self._pages_of(site)]
        before.sort(key=lambda record: record.fetched_at_ms)
        *_, complete = resolve_all([package._replace(records=list(before)), package], changed)
        return pack(complete.records, package.header.crawler, package.header.sequence)

    def store(self, packages: Iterable[bytes]) -> set[Site]:
        """Store packages together; returns the sites they link to. Raises PackageRefused."""
        opened = [(digest_of(data), data, unpack(data)) for data in packages]
        with self._lock:
            for digest, data, package in opened:
                path = self._path(digest)
                if path.exists():  # perhaps not durably: whoever wrote it may have died before the sync
                    sync_folder(path.parent)
                else:
                    write_durably(path, data)
                rows = [(site, digest) for site in self._sites_in(package)]
                self._list.executemany("INSERT OR IGNORE INTO about VALUES (?, ?)", rows)
            self._integrate([(digest, package) for digest, _, package in opened])
        links = (
            url for _, _, package in opened for url, _ in links_elsewhere(package, self._normaliser)
        )
        return {site_of(url) for url in links}

    def _fill_index(self) -> None:
        """At start: packages that the index lacks, because it was lost or the power failed."""
        stored = [path.stem for path in self._packages.glob("[!.]*.package")]
        if self._index.package_count() < len(stored):
            self._integrate([(digest, package) for digest in stored if (package := self._read(digest))])

    def _read(self, digest: str) -> Package | None:
        """None for one that the disk has damaged: the other packages are still searched."""
        try:
            return unpack(self.package(digest))
        except PackageRefused as reason:
            _log.error("a stored package is damaged", extra={"digest": digest, "why": str(reason)})
            return None

    def _integrate(self, packages: list[tuple[str, Package]]) -> None:
        writer = open_index(self._index_folder, writable=True)
        try:
            for digest, package in packages:
                writer.integrate(package, digest)
            writer.commit()
        finally:
            writer.close()
        self._index.reload()

    def package(self, digest: str) -> bytes:
        return self._path(digest).read_bytes()

    def documents_of(self, site: str) -> list[bytes]:
        """Everything known about a site's pages, as one package per crawler that visited them."""
        newest: dict[tuple[str, str], StoredVisit] = {}
        with self._lock:
            for package in self._packages_about(site):
                for record in self._visits_in(package, site):
                    known = newest.get((package.header.crawler, record.url))
                    if known is None or known.visit < record.visit:
                        newest[package.header.crawler, record.url] = record
        return _packed(newest)

    def _packages_about(self, site: str) -> Iterator[Package]:
        rows = self._list.execute("SELECT digest FROM about WHERE site = ? ORDER BY digest", (site,))
        for (digest,) in rows.fetchall():
            yield unpack(self.package(digest))

    def _pages_of(self, site: str) -> list[StoredVisit]:
        return [
            record for package in self._packages_about(site) for record in self._visits_in(package, site)
        ]

    def _visits_in(self, package: Package, site: str) -> Iterator[StoredVisit]:
        for record in package.records:
            if not isinstance(record, FetchMeasurement) and site_about(record, self._normaliser) == site:
                yield record

    def search(self, request: SearchRequest) -> SearchAnswer:
        with self._lock:
            return self._index.search(request)

    def page_count(self) -> int:
        with self._lock:
            return self._index.page_count()

    def _path(self, digest: str) -> Path:
        return self._packages / f"{digest}.package"

    def _sites_in(self, package: Package) -> set[Site]:
        return {site_about(record, self._normaliser) for record in package.records} - {NO_SITE}


def _packed(newest: dict[tuple[str, str], StoredVisit]) -> list[bytes]:
    by_crawler: defaultdict[str, list[StoredVisit]] = defaultdict(list)
    for (crawler, _), record in sorted(newest.items(), key=lambda item: item[0]):
        by_crawler[crawler].append(record)
    return [pack(records, crawler, 0) for crawler, records in by_crawler.items()]
