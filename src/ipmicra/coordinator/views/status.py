"""Rows -> the coordinator's status: hosts, sites, orders and packages, counted, and the latest events."""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection

from ipmicra.coordinator.store import events, hosts, orders, packages, sites
from ipmicra.coordinator.store.hosts import Host
from ipmicra.coordinator.store.liveness import is_awake, is_present, parse_report
from ipmicra.protocol.coordinator_api import CoordinatorStatus, EventView, HostStatus

EVENTS_SHOWN = 20


def host_statuses(connection: Connection, now_s: float) -> list[HostStatus]:
    counts = sites.counts_by_crawler(connection)
    return [_host(host, counts, now_s) for host in hosts.all_hosts(connection)]


def coordinator_status(connection: Connection, now_s: float) -> CoordinatorStatus:
    return CoordinatorStatus(
        hosts=host_statuses(connection, now_s),
        sites=sites.counts(connection),
        open_orders=orders.counts(connection),
        packages=packages.counts(connection),
        events=latest_events(connection),
    )


def without_addresses(status: CoordinatorStatus) -> CoordinatorStatus:
    """For visitors who have not signed in: only operators see the addresses of volunteers' machines."""
    replace = msgspec.structs.replace
    return replace(
        status,
        hosts=[replace(host, address="") for host in status.hosts],
        events=[replace(one, detail=public_detail(one)) for one in status.events],
    )


def public_detail(event: EventView) -> str:
    """Where a host enrolled from is left out."""
    return "" if event.kind == events.EventKind.HOST_ENROLLED else event.detail


def latest_events(connection: Connection) -> list[EventView]:
    """The latest events, newest first."""
    return [EventView(**event._asdict()) for event in events.latest(connection, EVENTS_SHOWN)]


def _host(host: Host, counts: dict[str, int], now_s: float) -> HostStatus:
    present = is_present(host, now_s)
    return HostStatus(
        name=host.name,
        state=host.state,
        present=present,
        awake=present and is_awake(parse_report(host), now_s),
        resting=parse_report(host).resting,
        address=host.address,
        heard_s=host.heard_s,
        sites=counts.get(host.name, 0),
        epoch=host.epoch,
        report=host.report,
    )
