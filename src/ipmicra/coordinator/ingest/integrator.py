"""Packages that were acknowledged -> pages in the index, links to other sites -> sites to delegate.

Invariant: index first, links second, its row last: a package is marked as integrated after the index has
committed and its links are stored. A crash in between repeats the work, and repeating it changes nothing.
A package that does not unpack, has no record of its crawler's sites, or fails in any other way that is not
the store's or the database's fault is set aside with its reason and does not stop others.
"""

from __future__ import annotations

import logging
import sqlite3

from sqlalchemy.exc import InterfaceError, OperationalError

from ipmicra.carrier.package import Package, PackageRefused, unpack
from ipmicra.coordinator.ingest import cross_check, purge, resend_orders
from ipmicra.coordinator.ingest.authorisation import FilteredPackage, RecordFilter, within_our_time
from ipmicra.coordinator.ingest.canaries import contradiction
from ipmicra.coordinator.ingest.link_intake import LinkIntake
from ipmicra.coordinator.metrics import INTEGRATION_LAG, PACKAGES_ENDED, count_pages
from ipmicra.coordinator.settings import CoordinatorSettings
from ipmicra.coordinator.store import events, failures, packages
from ipmicra.coordinator.store.package_bytes.file_store import PackageStore
from ipmicra.coordinator.store.packages import ClaimedPackage
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.errors import HostFault
from ipmicra.search.contract import IndexDamaged, SearchIndex

AT_ONCE = 16  # packages between two commits of the index
OUTSIDE_FAULTS = (OperationalError, InterfaceError, sqlite3.OperationalError, OSError, MemoryError)
REASON_CHARACTERS_MAX = 300

_log = logging.getLogger(__name__)


class Integrator:
    """One worker. Several may run; each claims its packages."""

    def __init__(
        self,
        database: Database,
        store: PackageStore,
        index: SearchIndex,
        name: str,
        settings: CoordinatorSettings,
    ) -> None:
        self._database = database
        self._store = store
        self._index = index
        self._name = name
        self._claim_s = settings.claim_seconds
        self._record_filter = RecordFilter()
        self._compared_share, self._known_pages = settings.compared_share, settings.known_pages
        self._link_intake = LinkIntake(database, settings)

    def integrate_pending(self, now_s: float) -> int:
        """Integrate a few waiting packages. Returns the number of packages processed."""
        with self._database.read() as connection:
            to_purge = purge.pending_purges(connection)
        for crawler in to_purge:
            purge.execute_purge(self._database, self._index, crawler, now_s)
        with self._database.begin() as connection:
            claimed = packages.claim(connection, self._name, now_s, self._claim_s, AT_ONCE)
        loaded = [(claim, filtered) for claim in claimed if (filtered := self._load(claim, now_s))]
        taken_in = [
            (claim, filtered) for claim, filtered in loaded if self._is_taken_in(claim, filtered, now_s)
        ]
        if taken_in:
            self._index.commit()
        for claim, filtered in taken_in:
            self._record(claim, filtered, now_s)
        self._ask_for_whole_pages({claim.crawler for claim, _ in taken_in}, now_s)
        return len(claimed)

    def _is_taken_in(self, claim: ClaimedPackage, filtered: FilteredPackage, now_s: float) -> bool:
        try:
            self._index.integrate(filtered.package, claim.digest)
        except (IndexDamaged, *OUTSIDE_FAULTS):
            raise
        except Exception as error:
            if (
                type(error) is sqlite3.DatabaseError
            ):  # the catalogue is malformed: not the package's fault
                raise
            self._put_aside(claim, "taking it into the index", error, now_s)
            return False
        return True

    def _ask_for_whole_pages(self, crawlers: set[str], now_s: float) -> None:
        """Where these crawlers sent changes to pages that the index lacks."""
        wanted = [url for crawler in sorted(crawlers) for url in self._index.wanted(crawler)]
        if wanted:
            with self._database.begin() as connection:
                resend_orders.ask(connection, wanted, now_s)

    def _record(self, claim: ClaimedPackage, filtered: FilteredPackage, now_s: float) -> None:
        try:
            self._note_contents(claim, filtered, now_s)
        except OUTSIDE_FAULTS:
            raise
        except Exception as error:
            self._put_aside(claim, "noting its links", error, now_s)

    def _note_contents(self, claim: ClaimedPackage, filtered: FilteredPackage, now_s: float) -> None:
        links = self._record_filter.links_elsewhere(filtered.package)
        dropped = self._link_intake.store(claim.crawler, links, now_s)
        with self._database.begin() as connection:
            received_s = packages.received_s(connection, claim)
            if not packages.mark_integrated(connection, claim, now_s, filtered.reason):
                return
            PACKAGES_ENDED.labels("integrated").inc()
            INTEGRATION_LAG.observe(max(0.0, now_s - received_s))
            count_pages(filtered.package)
            failures.count_failures(connection, filtered.package, now_s)
            cross_check.select_pages(
                connection, filtered.package, self._compared_share, now_s, self._index.page
            )
            if dropped:
                events.record(
                    connection, events.EventKind.LINKS_DROPPED, claim.crawler, dropped.in_words(), now_s
                )
            if filtered.reason:
                events.record(
                    connection, events.EventKind.RECORDS_REFUSED, claim.crawler, filtered.reason, now_s
                )

    def _load(self, claim: ClaimedPackage, now_s: float) -> FilteredPackage | None:
        try:
            package = unpack(self._store.fetch(claim.digest))
            _check_sender(package, claim)
            package = within_our_time(package, now_s)
            self._check_known_pages(package, now_s)
            return self._filter(package, claim)
        except PackageRefused as reason:
            self._refuse(claim, str(reason), now_s)
        except OUTSIDE_FAULTS:
            raise
        except HostFault as fault:  # the store's fault: the claim runs out, and it is tried again
            _log.error("a package cannot be fetched", extra={"digest": claim.digest, "why": str(fault)})
        except Exception as error:
            self._put_aside(claim, "reading it", error, now_s)
        return None

    def _filter(self, package: Package, claim: ClaimedPackage) -> FilteredPackage:
        with self._database.read() as connection:
            filtered = self._record_filter.filter(connection, package, claim)
        if filtered.reason:
            _log.warning(
                "records were refused", extra={"crawler": claim.crawler, "why": filtered.reason}
            )
        if package.records and not filtered.package.records:
            raise PackageRefused(filtered.reason)
        return filtered

    def _check_known_pages(self, package: Package, now_s: float) -> None:
        reason = contradiction(package, self._known_pages, self._index.page)
        if reason is not None:
            with self._database.begin() as connection:
                cross_check.revoke(connection, package.header.crawler, reason, now_s)
            raise PackageRefused(reason)

    def _put_aside(self, claim: ClaimedPackage, doing: str, error: Exception, now_s: float) -> None:
        """A defect of ours that this package found: it waits for a better program, the others do not."""
        named = {"crawler": claim.crawler, "sequence": claim.sequence, "digest": claim.digest}
        _log.error("a package stopped integration", extra={**named, "doing": doing}, exc_info=error)
        words = "".join(c if c.isprintable() else " " for c in str(error))[:REASON_CHARACTERS_MAX]
        self._refuse(claim, f"our defect: {doing} ended in {type(error).__name__}: {words}", now_s)

    def _refuse(self, claim: ClaimedPackage, reason: str, now_s: float) -> None:
        _log.warning("a package was refused", extra={"crawler": claim.crawler, "why": reason})
        with self._database.begin() as connection:
            if packages.mark_refused(connection, claim, reason, now_s):
                PACKAGES_ENDED.labels("refused").inc()
                events.record(connection, events.EventKind.PACKAGE_REFUSED, claim.crawler, reason, now_s)


def _check_sender(package: Package, claim: ClaimedPackage) -> None:
    header = package.header
    if (header.crawler, header.sequence) != (claim.crawler, claim.sequence):
        raise PackageRefused(
            f"sent by {claim.crawler!r} as number {claim.sequence}, "
            f"says it is {header.crawler!r}'s number {header.sequence}"
        )
