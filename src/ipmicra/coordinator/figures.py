"""Rows -> the figures by which an operator knows how the crawl is doing.

Law: counted from rows alone, so every replica shows the same.
"""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection, func, select

from ipmicra.coordinator import hosts, sites, traffic
from ipmicra.coordinator.decided import Decisions
from ipmicra.coordinator.delegating.memory import Delegated
from ipmicra.coordinator.delegating.present import is_awake, is_present, said_by
from ipmicra.coordinator.savings import savings
from ipmicra.coordinator.sites import SiteState
from ipmicra.coordinator.state.schema import link as link_rows
from ipmicra.coordinator.state.schema import package as package_rows
from ipmicra.coordinator.state.schema import site as site_rows

_OWNED = (SiteState.DELEGATED, SiteState.RELEASING)


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """One moment of the crawl."""

    at_s: float
    hosts: int = 0
    present: int = 0
    awake: int = 0
    sites: int = 0
    delegated: int = 0
    subnets: int = 0
    links: int = 0
    fetches: int = 0
    body_bytes: int = 0
    home_bytes: int = 0
    packages: int = 0
    packages_waiting: int = 0
    probes: int = 0
    probed_sites: int = 0
    spent_byte_ms: float = 0.0
    hashed_byte_ms: float = 0.0

    @property
    def probes_per_delegation(self) -> float | None:
        return self.probes / self.delegated if self.delegated else None

    @property
    def share_without_probe(self) -> float | None:
        return 1 - min(self.probed_sites, self.delegated) / self.delegated if self.delegated else None

    @property
    def saved_byte_ms(self) -> float:
        return self.hashed_byte_ms - self.spent_byte_ms

    @property
    def saved_share(self) -> float | None:
        return self.saved_byte_ms / self.hashed_byte_ms if self.hashed_byte_ms else None


def figures(connection: Connection, decisions: Decisions, now_s: float) -> Figures:
    """`decisions` is brought up to date on the way."""
    decisions.read(connection)
    everybody = hosts.all_hosts(connection)
    present = [host for host in everybody if is_present(host, now_s)]
    by_state = sites.counts(connection)
    ground_of = dict(_owned_sites(connection))
    probes = {s: n for s, n in decisions.probes_by_site().items() if s in ground_of}
    fetched = traffic.total(connection)
    packages, waiting, home_bytes = _packages(connection)
    saved = savings(
        traffic.carried(connection),
        decisions_by_site(decisions, ground_of),
        [host.name for host in present],
    )
    return Figures(
        at_s=now_s,
        hosts=len(everybody),
        present=len(present),
        awake=sum(is_awake(said_by(host), now_s) for host in present),
        sites=sum(by_state.values()),
        delegated=sum(by_state.get(state, 0) for state in _OWNED),
        subnets=len(set(ground_of.values())),
        links=connection.execute(select(func.count()).select_from(link_rows)).scalar_one(),
        fetches=fetched.fetches,
        body_bytes=fetched.body_bytes,
        home_bytes=home_bytes,
        packages=packages,
        packages_waiting=waiting,
        probes=sum(probes.values()),
        probed_sites=sum(count > 0 for count in probes.values()),
        spent_byte_ms=saved.spent_byte_ms,
        hashed_byte_ms=saved.hashed_byte_ms,
    )


def decisions_by_site(decisions: Decisions, ground_of: dict[str, str]) -> dict[str, Delegated]:
    """What was decided about the ground that each site stands on."""
    known = decisions.by_ground
    return {site: known[ground] for site, ground in ground_of.items() if ground in known}


def _owned_sites(connection: Connection) -> list[tuple[str, str]]:
    """Name and ground of every site that somebody has."""
    query = select(site_rows.c.name, site_rows.c.ground).where(site_rows.c.state.in_(_OWNED))
    return [(row.name, row.ground) for row in connection.execute(query)]


def _packages(connection: Connection) -> tuple[int, int, int]:
    """How many came home, how many of them wait, and their bytes."""
    columns = (package_rows.c.state, func.count(), func.sum(package_rows.c.package_bytes))
    rows = connection.execute(select(*columns).group_by(package_rows.c.state)).all()
    waiting = sum(int(count) for state, count, _ in rows if state == "kept")
    return sum(int(row[1]) for row in rows), waiting, sum(int(row[2]) for row in rows)
