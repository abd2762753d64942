"""Packages that were acknowledged -> pages in the index, links to other sites -> sites to delegate.

Law: index first, rows second: a package is noted as integrated in the transaction that keeps its links,
after the index has committed. A death in between repeats the work, and repeating it changes nothing. A
package that does not unpack is kept aside with its reason and stops nobody.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from ipmicra.carrier.package import Package, PackageRefused, unpack
from ipmicra.carrier.record import PageMoved, PageSeen
from ipmicra.coordinator import packages, sites
from ipmicra.coordinator.package_stores import PackageStore
from ipmicra.coordinator.packages import Claimed
from ipmicra.coordinator.state.database import Database
from ipmicra.crawler.decisions.urls import Normaliser, Url, site_of
from ipmicra.errors import HostFault
from ipmicra.search.contract import Index

AT_ONCE = 16  # packages between two commits of the index

_log = logging.getLogger(__name__)


class Integrator:
    """One worker. Several may run; a claim keeps them apart."""

    def __init__(
        self, database: Database, store: PackageStore, index: Index, name: str, claim_s: float
    ) -> None:
        self._database = database
        self._store = store
        self._index = index
        self._name = name
        self._claim_s = claim_s
        self._normaliser = Normaliser()

    def work(self, now_s: float) -> int:
        """Integrate what waits, a handful. Returns how many packages were dealt with."""
        with self._database.begin() as connection:
            claimed = packages.claim(connection, self._name, now_s, self._claim_s, AT_ONCE)
        unpacked = [(claim, package) for claim in claimed if (package := self._unpacked(claim, now_s))]
        for claim, package in unpacked:
            self._index.integrate(package, claim.digest)
        if unpacked:
            self._index.commit()
        for claim, package in unpacked:
            with self._database.begin() as connection:
                sites.found(connection, self._links_elsewhere(package), now_s)
                packages.integrated(connection, claim, now_s)
        return len(claimed)

    def _unpacked(self, claim: Claimed, now_s: float) -> Package | None:
        try:
            package = unpack(self._store.fetch(claim.digest))
            _check_sender(package, claim)
        except PackageRefused as reason:
            self._refuse(claim, str(reason), now_s)
            return None
        except HostFault as fault:  # the store's fault: the claim runs out, and it is tried again
            _log.error("a package cannot be fetched", extra={"digest": claim.digest, "why": str(fault)})
            return None
        return package

    def _refuse(self, claim: Claimed, reason: str, now_s: float) -> None:
        _log.warning("a package was refused", extra={"crawler": claim.crawler, "why": reason})
        with self._database.begin() as connection:
            packages.refused(connection, claim, reason, now_s)

    def _links_elsewhere(self, package: Package) -> Iterator[Url]:
        """Links to other sites; those within a site are its own crawler's to follow."""
        for record in package.records:
            if isinstance(record, PageSeen) and not record.page.robots.nofollow:
                targets = [link.url for link in record.page.links if "nofollow" not in link.rel]
            elif isinstance(record, PageMoved):
                targets = [record.target]
            else:
                continue
            here = self._normaliser.url(record.url)
            for url in map(self._normaliser.url, targets):
                if url is not None and (here is None or site_of(url) != site_of(here)):
                    yield url


def _check_sender(package: Package, claim: Claimed) -> None:
    header = package.header
    if (header.crawler, header.sequence) != (claim.crawler, claim.sequence):
        raise PackageRefused(
            f"sent by {claim.crawler!r} as number {claim.sequence}, "
            f"says it is {header.crawler!r}'s number {header.sequence}"
        )
