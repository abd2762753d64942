"""Packages that were acknowledged -> pages in the index, links to other sites -> sites to delegate.

Law: index first, rows second: a package is noted as integrated in the transaction that keeps its links,
after the index has committed. A death in between repeats the work, and repeating it changes nothing. A
package that does not unpack, speaks of nothing that was its crawler's, or fails in any other way that is
not the store's or the database's fault is kept aside with its reason and stops nobody.
"""

from __future__ import annotations

import logging
import sqlite3

from sqlalchemy.exc import InterfaceError, OperationalError

from ipmicra.carrier.package import Package, PackageRefused, unpack
from ipmicra.coordinator.ingest import cross_check, purge, resend_orders
from ipmicra.coordinator.ingest.authorisation import FilteredPackage, PackageJudge, within_our_time
from ipmicra.coordinator.ingest.canaries import lie_in
from ipmicra.coordinator.settings import KnownPage
from ipmicra.coordinator.store import events, failures, packages, sites
from ipmicra.coordinator.store.database import Database
from ipmicra.coordinator.store.package_files import PackageStore
from ipmicra.coordinator.store.packages import ClaimedPackage
from ipmicra.errors import HostFault
from ipmicra.search.contract import SearchIndex

AT_ONCE = 16  # packages between two commits of the index
OUTSIDE_FAULTS = (OperationalError, InterfaceError, sqlite3.OperationalError, OSError, MemoryError)
REASON_CHARACTERS_MAX = 300

_log = logging.getLogger(__name__)


class Integrator:
    """One worker. Several may run; a claim keeps them apart."""

    def __init__(
        self,
        database: Database,
        store: PackageStore,
        index: SearchIndex,
        name: str,
        claim_s: float,
        compared_share: float = 0.0,
        known_pages: tuple[KnownPage, ...] = (),
    ) -> None:
        self._database = database
        self._store = store
        self._index = index
        self._name = name
        self._claim_s = claim_s
        self._contents = PackageJudge()
        self._compared_share, self._known_pages = compared_share, known_pages

    def work(self, now_s: float) -> int:
        """Integrate what waits, a handful. Returns how many packages were dealt with."""
        with self._database.begin() as connection:
            for crawler in purge.pending_purges(connection):
                purge.execute_purge(connection, self._index, crawler, now_s)
            claimed = packages.claim(connection, self._name, now_s, self._claim_s, AT_ONCE)
        judged = [(claim, found) for claim in claimed if (found := self._judged(claim, now_s))]
        taken_in = [(claim, found) for claim, found in judged if self._is_taken_in(claim, found, now_s)]
        if taken_in:
            self._index.commit()
        for claim, found in taken_in:
            self._note(claim, found, now_s)
        self._ask_for_whole_pages({claim.crawler for claim, _ in taken_in}, now_s)
        return len(claimed)

    def _is_taken_in(self, claim: ClaimedPackage, found: FilteredPackage, now_s: float) -> bool:
        try:
            self._index.integrate(found.package, claim.digest)
        except OUTSIDE_FAULTS:
            raise
        except Exception as error:
            self._put_aside(claim, "taking it into the index", error, now_s)
            return False
        return True

    def _ask_for_whole_pages(self, crawlers: set[str], now_s: float) -> None:
        """Where these crawlers sent changes to pages that the index lacks."""
        wanted = [url for crawler in sorted(crawlers) for url in self._index.wanted(crawler)]
        if wanted:
            with self._database.begin() as connection:
                resend_orders.ask(connection, wanted, now_s)

    def _note(self, claim: ClaimedPackage, found: FilteredPackage, now_s: float) -> None:
        try:
            self._note_contents(claim, found, now_s)
        except OUTSIDE_FAULTS:
            raise
        except Exception as error:
            self._put_aside(claim, "noting its links", error, now_s)

    def _note_contents(self, claim: ClaimedPackage, found: FilteredPackage, now_s: float) -> None:
        with self._database.begin() as connection:
            sites.add_links(connection, self._contents.links_elsewhere(found.package), now_s)
            if not packages.integrated(connection, claim, now_s, found.reason):
                return
            failures.count(connection, found.package, now_s)
            cross_check.pick(connection, found.package, self._compared_share, now_s)
            if found.reason:
                events.note(connection, "records-refused", claim.crawler, found.reason, now_s)

    def _judged(self, claim: ClaimedPackage, now_s: float) -> FilteredPackage | None:
        try:
            package = unpack(self._store.fetch(claim.digest))
            _check_sender(package, claim)
            package = within_our_time(package, now_s)
            self._check_known_pages(package, now_s)
            return self._own(package, claim)
        except PackageRefused as reason:
            self._refuse(claim, str(reason), now_s)
        except OUTSIDE_FAULTS:
            raise
        except HostFault as fault:  # the store's fault: the claim runs out, and it is tried again
            _log.error("a package cannot be fetched", extra={"digest": claim.digest, "why": str(fault)})
        except Exception as error:
            self._put_aside(claim, "reading it", error, now_s)
        return None

    def _own(self, package: Package, claim: ClaimedPackage) -> FilteredPackage:
        with self._database.read() as connection:
            found = self._contents.judged(connection, package, claim)
        if found.reason:
            _log.warning("records were refused", extra={"crawler": claim.crawler, "why": found.reason})
        if package.records and not found.package.records:
            raise PackageRefused(found.reason)
        return found

    def _check_known_pages(self, package: Package, now_s: float) -> None:
        lie = lie_in(package, self._known_pages)
        if lie is not None:
            with self._database.begin() as connection:
                cross_check.revoke(connection, package.header.crawler, lie, now_s)
            raise PackageRefused(lie)

    def _put_aside(self, claim: ClaimedPackage, doing: str, error: Exception, now_s: float) -> None:
        """A defect of ours that this package found: it waits for a better program, the others do not."""
        named = {"crawler": claim.crawler, "sequence": claim.sequence, "digest": claim.digest}
        _log.error("a package stopped integration", extra={**named, "doing": doing}, exc_info=error)
        words = "".join(c if c.isprintable() else " " for c in str(error))[:REASON_CHARACTERS_MAX]
        self._refuse(claim, f"our defect: {doing} ended in {type(error).__name__}: {words}", now_s)

    def _refuse(self, claim: ClaimedPackage, reason: str, now_s: float) -> None:
        _log.warning("a package was refused", extra={"crawler": claim.crawler, "why": reason})
        with self._database.begin() as connection:
            if packages.refused(connection, claim, reason, now_s):
                events.note(connection, "package-refused", claim.crawler, reason, now_s)


def _check_sender(package: Package, claim: ClaimedPackage) -> None:
    header = package.header
    if (header.crawler, header.sequence) != (claim.crawler, claim.sequence):
        raise PackageRefused(
            f"sent by {claim.crawler!r} as number {claim.sequence}, "
            f"says it is {header.crawler!r}'s number {header.sequence}"
        )
