"""Rows of packages -> packages to be integrated, the latest packages, and totals by crawler."""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection, func, select

from ipmicra.coordinator.store import hosts
from ipmicra.coordinator.store.packages import PackageState
from ipmicra.coordinator.store.sql.schema import package_table

LATEST_SHOWN = 50


class PackageView(msgspec.Struct, frozen=True, kw_only=True):
    """One package."""

    crawler: str
    sequence: int
    package_bytes: int
    received_s: float
    state: str
    claimed: bool
    integrated_s: float | None
    reason: str


class SenderSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Packages of one crawler: delivered, and still on its host."""

    crawler: str
    spooled: int  # on the host, by its last report
    waiting: int
    integrated: int
    refused: int
    home_bytes: int


def latest(connection: Connection, crawler: str | None = None) -> list[PackageView]:
    """Packages to be integrated first, then the latest."""
    query = select(package_table).order_by(
        package_table.c.state != PackageState.KEPT, package_table.c.received_s.desc()
    )
    if crawler is not None:
        query = query.where(package_table.c.crawler == crawler)
    return [
        PackageView(
            crawler=row.crawler,
            sequence=row.sequence,
            package_bytes=row.package_bytes,
            received_s=row.received_s,
            state=row.state,
            claimed=row.claimed_by is not None,
            integrated_s=row.integrated_s,
            reason=row.reason,
        )
        for row in connection.execute(query.limit(LATEST_SHOWN))
    ]


def senders(connection: Connection) -> list[SenderSummary]:
    """Every host that has or had packages, by name."""
    columns = (
        package_table.c.crawler,
        package_table.c.state,
        func.count(),
        func.sum(package_table.c.package_bytes),
    )
    sums: dict[str, dict[str, tuple[int, int]]] = {}
    for crawler, state, count, size in connection.execute(
        select(*columns).group_by(package_table.c.crawler, package_table.c.state)
    ):
        sums.setdefault(crawler, {})[state] = (int(count), int(size))
    spooled = {host.name: _spooled(host.report) for host in hosts.all_hosts(connection)}
    names = sorted({name for name, count in spooled.items() if count} | sums.keys())
    return [_sender(name, sums.get(name, {}), spooled.get(name, 0)) for name in names]


def _sender(name: str, sums: dict[str, tuple[int, int]], spooled: int) -> SenderSummary:
    def count(state: PackageState) -> int:
        return sums.get(state, (0, 0))[0]

    return SenderSummary(
        crawler=name,
        spooled=spooled,
        waiting=count(PackageState.KEPT),
        integrated=count(PackageState.INTEGRATED),
        refused=count(PackageState.REFUSED),
        home_bytes=sum(size for _, size in sums.values()),
    )


def _spooled(report: dict[str, object]) -> int:
    spooled = report.get("spooled_packages")
    return spooled if isinstance(spooled, int) else 0
