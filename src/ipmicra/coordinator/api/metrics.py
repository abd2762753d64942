"""Rows and the counters of this process -> Prometheus' text format.

Invariant: rows are counted at most once per `COUNTED_SECONDS`, for any number of requests. Series by host
end at `HOSTS_MAX`. The gauges of version 0.1 keep their names.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector
from sqlalchemy import Connection, func, select

from ipmicra.coordinator.ingest.index_state import IndexCondition, index_state
from ipmicra.coordinator.metrics import REGISTRY
from ipmicra.coordinator.store.hosts import HostState
from ipmicra.coordinator.store.packages import PackageState
from ipmicra.coordinator.store.sites import SiteStatus
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.coordinator.store.sql.schema import order_table, package_table
from ipmicra.coordinator.views.status import coordinator_status
from ipmicra.protocol.coordinator_api import CoordinatorStatus, HostStatus

MEDIA_TYPE = CONTENT_TYPE_PLAIN_0_0_4
COUNTED_SECONDS = 5.0
HOSTS_MAX = 500
HOST_CONDITIONS = ("waiting to join", "working", "resting", "absent", "ended")


class RowMetrics:
    """The gauges of one coordinator."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._families: list[Metric] = []
        self._counted_s = float("-inf")

    def families(self, now_s: float) -> list[Metric]:
        if not 0 <= time.monotonic() - self._counted_s < COUNTED_SECONDS:
            with self._database.read() as connection:
                self._families = list(_families(connection, now_s))
            self._counted_s = time.monotonic()
        return self._families


def metrics_text(
    rows: RowMetrics, now_s: float, leads: bool, polls: int, index: tuple[int, int] | None
) -> bytes:
    """`index` is how many pages can be found, and how many bytes the index has."""
    here = [
        _gauge("ipmicra_leader", "1 where this replica delegates.", {"": int(leads)}),
        _gauge("ipmicra_polls_waiting", "Requests for orders held open here.", {"": polls}),
    ]
    if index is not None:
        here.append(_gauge("ipmicra_index_pages", "Pages that can be found.", {"": index[0]}))
        here.append(_gauge("ipmicra_index_bytes", "Size of the index.", {"": index[1]}))
    scraped = CollectorRegistry()
    scraped.register(_Given([*rows.families(now_s), *here]))
    return generate_latest(scraped) + generate_latest(REGISTRY)


class _Given(Collector):
    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def _gauge(name: str, story: str, values: Mapping[str, float], label: str = "") -> Metric:
    """A value for each of the label's; without a label, one under the empty text."""
    family = GaugeMetricFamily(name, story, labels=[label] if label else [])
    for of, value in values.items():
        family.add_metric([of] if label else [], value)
    return family


def _families(connection: Connection, now_s: float) -> Iterator[Metric]:
    now = coordinator_status(connection, now_s)
    yield from _host_families(now)
    states = {state.value: now.sites.get(state, 0) for state in SiteStatus}
    yield _gauge("ipmicra_sites", "Sites by state.", states, "state")
    yield _gauge(
        "ipmicra_leader_backlog_sites", "Sites that wait for a crawler.",
        {"": now.sites.get(SiteStatus.WAITING, 0)},
    )  # fmt: skip
    yield _gauge("ipmicra_orders_open", "Orders not done yet, by kind.", now.open_orders, "kind")
    ages = {kind: now_s - given_s for kind, given_s in _oldest_orders(connection)}
    yield _gauge("ipmicra_order_oldest_age_seconds", "The oldest open order, by kind.", ages, "kind")
    packages = {state.value: now.packages.get(state, 0) for state in PackageState}
    yield _gauge("ipmicra_packages", "Packages by state.", packages, "state")
    waits_s = _oldest_package(connection)
    yield _gauge(
        "ipmicra_package_oldest_waiting_age_seconds", "The oldest package that is not integrated.",
        {"": 0.0 if waits_s is None else max(0.0, now_s - waits_s)},
    )  # fmt: skip
    condition = index_state(connection).condition
    conditions = {one.value: float(one is condition) for one in IndexCondition}
    yield _gauge("ipmicra_index_condition", "1 for how the index is.", conditions, "condition")


def _host_families(now: CoordinatorStatus) -> Iterator[Metric]:
    hosts = {
        "present": sum(host.present for host in now.hosts),
        "awake": sum(host.awake for host in now.hosts),
        "registered": len(now.hosts),
    }
    yield _gauge("ipmicra_hosts", "Hosts by how they are; the groups overlap.", hosts, "are")
    conditions = dict.fromkeys(HOST_CONDITIONS, 0)
    for host in now.hosts:
        conditions[_condition(host)] += 1
    yield _gauge("ipmicra_hosts_by_condition", "Hosts, each in one condition.", conditions, "condition")
    named = [host for host in now.hosts if host.state == HostState.ENROLLED][:HOSTS_MAX]
    heard = {host.name: host.heard_s for host in named if host.heard_s is not None}
    yield _gauge(
        "ipmicra_host_last_contact_timestamp_seconds", "Time of a host's last request.", heard, "host"
    )
    for key, name, story in (
        ("sites", "ipmicra_host_sites", "Sites that a host crawls."),
        ("pages", "ipmicra_host_pages", "Pages that a host has fetched, in its own words."),
        ("spooled_packages", "ipmicra_host_packages_spooled", "Packages that a host has not sent yet."),
        ("bytes_today", "ipmicra_host_traffic_today_bytes", "Bytes that a host used today."),
    ):
        values = {host.name: _number(host.report.get(key, 0)) for host in named}
        yield _gauge(name, story, values, "host")


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _condition(host: HostStatus) -> str:
    if host.state == HostState.ENROLLED:
        return "absent" if not host.present else "working" if host.awake else "resting"
    return "waiting to join" if host.state == HostState.REGISTERED else "ended"


def _oldest_orders(connection: Connection) -> list[tuple[str, float]]:
    query = select(order_table.c.kind, func.min(order_table.c.given_s))
    found = connection.execute(query.where(order_table.c.done_s.is_(None)).group_by(order_table.c.kind))
    return [(kind, given_s) for kind, given_s in found]


def _oldest_package(connection: Connection) -> float | None:
    query = select(func.min(package_table.c.received_s))
    found: float | None = connection.execute(
        query.where(package_table.c.state == PackageState.KEPT)
    ).scalar()
    return found
