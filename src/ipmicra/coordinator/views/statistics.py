"""Rows -> the statistics of the dashboard.

Counting is fast; the value of delegation needs all sites and decisions, so it is computed separately and less
often. Invariant: computed from rows only, so every replica shows the same.
"""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection, func, select

from ipmicra.coordinator.store import hosts, sites, traffic
from ipmicra.coordinator.store.liveness import is_awake, is_present, parse_report
from ipmicra.coordinator.store.packages import PackageState
from ipmicra.coordinator.store.sites import SiteStatus
from ipmicra.coordinator.store.sql.schema import package_table, site_table
from ipmicra.coordinator.views.delegation_cache import DelegationCache
from ipmicra.coordinator.views.savings import Savings, savings

_OWNED = (SiteStatus.DELEGATED, SiteStatus.RELEASING)


class DelegationStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """The cost and the benefit of delegation."""

    sites: int = 0
    subnets: int = 0
    probes: int = 0
    probed_sites: int = 0
    savings: Savings = Savings()

    @property
    def probes_per_delegation(self) -> float | None:
        return self.probes / self.sites if self.sites else None

    @property
    def share_without_probe(self) -> float | None:
        return 1 - self.probed_sites / self.sites if self.sites else None


class CrawlStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """One moment of the crawl."""

    at_s: float
    hosts: int = 0
    present: int = 0
    awake: int = 0
    sites: int = 0
    delegated: int = 0
    fetches: int = 0
    body_bytes: int = 0
    home_bytes: int = 0
    packages: int = 0
    packages_waiting: int = 0


def crawl_statistics(connection: Connection, now_s: float) -> CrawlStatistics:
    all_hosts = hosts.all_hosts(connection)
    present = [host for host in all_hosts if is_present(host, now_s)]
    by_state = sites.counts(connection)
    fetched = traffic.total(connection)
    packages, waiting, home_bytes = _packages(connection)
    return CrawlStatistics(
        at_s=now_s,
        hosts=len(all_hosts),
        present=len(present),
        awake=sum(is_awake(parse_report(host), now_s) for host in present),
        sites=sum(by_state.values()),
        delegated=sum(by_state.get(state, 0) for state in _OWNED),
        fetches=fetched.fetches,
        body_bytes=fetched.body_bytes,
        home_bytes=home_bytes,
        packages=packages,
        packages_waiting=waiting,
    )


def delegation_statistics(
    connection: Connection, decisions: DelegationCache, now_s: float
) -> DelegationStatistics:
    """`decisions` is brought up to date on the way."""
    decisions.read(connection)
    unit_of = dict(_owned_sites(connection))
    probes = {site: n for site, n in decisions.probes_by_site().items() if site in unit_of}
    known = decisions.by_unit
    decided = {site: known[unit] for site, unit in unit_of.items() if unit in known}
    present = [host.name for host in hosts.all_hosts(connection) if is_present(host, now_s)]
    return DelegationStatistics(
        sites=len(unit_of),
        subnets=len(set(unit_of.values())),
        probes=sum(probes.values()),
        probed_sites=sum(count > 0 for count in probes.values()),
        savings=savings(traffic.site_traffic(connection), decided, present),
    )


def _owned_sites(connection: Connection) -> list[tuple[str, str]]:
    """Name and delegation unit of every assigned site."""
    query = select(site_table.c.name, site_table.c.ground).where(site_table.c.state.in_(_OWNED))
    return [(row[0], row[1]) for row in connection.execute(query)]


def _packages(connection: Connection) -> tuple[int, int, int]:
    """How many came home, how many of them wait, and their bytes."""
    columns = (package_table.c.state, func.count(), func.sum(package_table.c.package_bytes))
    rows = connection.execute(select(*columns).group_by(package_table.c.state)).all()
    waiting = sum(int(count) for state, count, _ in rows if state == PackageState.KEPT)
    return sum(int(row[1]) for row in rows), waiting, sum(int(row[2]) for row in rows)
