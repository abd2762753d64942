"""Rows -> alerts by kind: how often, who can fix it, and what to do.

Invariant: reads rows only. A kind is listed only while it is true, with the latest examples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import msgspec
from sqlalchemy import ColumnElement, Connection, Table, func, select

from ipmicra.coordinator.ingest.index_state import index_state
from ipmicra.coordinator.store import hosts, intake
from ipmicra.coordinator.store.failures import failures
from ipmicra.coordinator.store.hosts import HostState
from ipmicra.coordinator.store.liveness import is_present
from ipmicra.coordinator.store.packages import PackageState
from ipmicra.coordinator.store.sites import SiteStatus
from ipmicra.coordinator.store.sql.schema import event_table, order_table, package_table, site_table
from ipmicra.protocol.coordinator_api import Alert, AlertList
from ipmicra.protocol.host_messages import OrderDone

EXAMPLES_MAX = 5
KINDS_MAX = 20  # of one family
DAY_S = 86_400.0
STUCK_SECONDS = 600.0
ORDERS_EXAMINED = 2_000
SITES_EXAMINED = 20_000


def alert_list(connection: Connection, now_s: float) -> AlertList:
    return AlertList(troubles=alerts(connection, now_s), failures=failures(connection, now_s))


def alerts(connection: Connection, now_s: float) -> list[Alert]:
    """Current problems, the most frequent first."""
    families: tuple[Callable[[Connection, float], Iterator[Alert]], ...] = (
        _unwell_index,
        _unreachable_sites,
        _waiting_sites,
        _silent_hosts,
        _lost_leases,
        _suspected_partitions,
        _dropped_links,
        _refused_packages,
        _stuck_packages,
        _orders_not_done,
    )
    alert_rows = [alert for family in families for alert in family(connection, now_s)]
    return sorted(alert_rows, key=lambda alert: (-alert.count, alert.kind, alert.what))


def _unwell_index(connection: Connection, _: float) -> Iterator[Alert]:
    state = index_state(connection)
    if not state.is_well:
        yield Alert(
            kind=f"index-{state.condition}",
            whose="ours",
            what=state.in_words(),
            advice="It is made anew from the packages by itself unless coordinator.rebuilds_index is off; "
            "by hand: ipmicra coordinator reindex. Searches find less until then; nothing is lost.",
            count=1,
        )


def _unreachable_sites(connection: Connection, _: float) -> Iterator[Alert]:
    """By the recorded reason, with the site's name left out."""
    rows = site_table.c
    query = select(rows.name, rows.note).where(rows.state == SiteStatus.UNREACHABLE)
    latest = connection.execute(query.order_by(rows.delegated_s.desc()).limit(SITES_EXAMINED))
    by_reason: dict[str, list[str]] = {}
    for name, note in latest:
        by_reason.setdefault(_without_name(note, name), []).append(name)
    for reason, names in list(by_reason.items())[:KINDS_MAX]:
        yield Alert(
            kind="site-unreachable",
            whose="the site's",
            what=reason or "no crawler got an answer",
            advice="They are tried again automatically after coordinator.retry_seconds. A name that does "
            "not exist may be mistyped where it was linked.",
            count=len(names),
            examples=names[:EXAMPLES_MAX],
        )


def _without_name(note: str, site: str) -> str:
    name = urlsplit(site).hostname or site
    return note.replace(name, "the name")


def _waiting_sites(connection: Connection, now_s: float) -> Iterator[Alert]:
    rows = site_table.c
    late = (rows.state == SiteStatus.WAITING) & (rows.found_s < now_s - STUCK_SECONDS)
    for note, count in _by_text(connection, rows.note, late):
        yield Alert(
            kind="site-waits",
            whose="the operator's",
            what=note or "waits for a crawler",
            advice="Sites wait while no crawler is awake or near: register more hosts, or look at the "
            "hours of those there are.",
            count=count,
            examples=_examples(connection, rows.name, late & (rows.note == note)),
        )


def _silent_hosts(connection: Connection, now_s: float) -> Iterator[Alert]:
    silent = [
        host.name
        for host in hosts.all_hosts(connection)
        if host.state is HostState.ENROLLED and not is_present(host, now_s)
    ]
    if silent:
        yield Alert(
            kind="host-silent",
            whose="a host's",
            what="an enrolled host does not send heartbeats",
            advice="Its sites have gone to others. See on the machine: ipmicra host status. A host that "
            "will not come back is best revoked.",
            count=len(silent),
            examples=silent[:EXAMPLES_MAX],
        )


def _lost_leases(connection: Connection, now_s: float) -> Iterator[Alert]:
    rows = event_table.c
    lost = (rows.kind == "lease-lost") & (rows.at_s > now_s - DAY_S)
    count = _count(connection, event_table, lost)
    if count:
        yield Alert(
            kind="lease-lost",
            whose="a host's",
            what="hosts were silent past their lease in the last day",
            advice="A host that comes and goes: a longer coordinator.lease_seconds moves fewer sites about.",
            count=count,
            examples=_examples(connection, rows.subject, lost),
        )


def _suspected_partitions(connection: Connection, now_s: float) -> Iterator[Alert]:
    rows = event_table.c
    count = _count(connection, event_table, (rows.kind == "line-cut") & (rows.at_s > now_s - DAY_S))
    if count:
        yield Alert(
            kind="line-cut",
            whose="the operator's",
            what="nearly all hosts were silent at once in the last day",
            advice="No lease expires during this time, so nothing is crawled twice. Check the coordinator's "
            "network, certificate and DNS name.",
            count=count,
        )


def _dropped_links(connection: Connection, now_s: float) -> Iterator[Alert]:
    dropped = intake.dropped_links(connection, now_s - DAY_S)
    if dropped:
        yield Alert(
            kind="links-dropped",
            whose="a host's",
            what="packages brought more new links or sites than the limits allow, since yesterday",
            advice="A site with endless links, or a host that makes them up. Where the links are wanted, "
            "raise coordinator.new_sites_per_site_a_day_max, coordinator.new_sites_per_host_a_day_max and "
            "the like.",
            count=max(count for _, count in dropped),
            examples=[source for source, _ in dropped[:EXAMPLES_MAX]],
        )


def _refused_packages(connection: Connection, _: float) -> Iterator[Alert]:
    rows = package_table.c
    has_reason = (rows.reason != "") & ~rows.reason.startswith("purged: ")
    for reason, count in _by_text(connection, rows.reason, has_reason):
        which = rows.reason == reason
        yield Alert(
            kind="package-refused",
            whose="a host's",
            what=reason,
            advice="The bytes are stored. If it is one host: its version is old or its disk is failing. "
            "If several: see the coordinator's log.",
            count=count,
            examples=_examples(connection, rows.crawler, which),
        )


def _stuck_packages(connection: Connection, now_s: float) -> Iterator[Alert]:
    rows = package_table.c
    stuck = (rows.state == PackageState.KEPT) & (rows.received_s < now_s - STUCK_SECONDS)
    count = _count(connection, package_table, stuck)
    if count:
        yield Alert(
            kind="package-waits",
            whose="ours",
            what="packages wait to be integrated for more than ten minutes",
            advice="The integrator is behind or failing: see the coordinator's log, and its disk.",
            count=count,
            examples=_examples(connection, rows.crawler, stuck),
        )


def _orders_not_done(connection: Connection, now_s: float) -> Iterator[Alert]:
    """Orders of the last day that hosts did not carry out, by the reported reason."""
    rows = order_table.c
    query = select(rows.host, rows.kind, rows.outcome).where(
        rows.done_s > now_s - DAY_S, rows.outcome.is_not(None)
    )
    details: dict[tuple[str, str], list[str]] = {}
    unknown: dict[str, list[str]] = {}
    for row in connection.execute(query.order_by(rows.number.desc()).limit(ORDERS_EXAMINED)):
        done = msgspec.msgpack.decode(row.outcome, type=OrderDone)
        if done.unknown_kind:
            unknown.setdefault(row.kind, []).append(row.host)
        elif not done.done:
            details.setdefault((row.kind, done.detail), []).append(row.host)
    for kind, host_names in list(unknown.items())[:KINDS_MAX]:
        yield Alert(
            kind="order-unknown",
            whose="a host's",
            what=f"{kind}: the host's version does not know this kind of order",
            advice="Have its owner install the coordinator's version. Its other orders are done.",
            count=len(host_names),
            examples=sorted(set(host_names))[:EXAMPLES_MAX],
        )
    for (kind, detail), host_names in list(details.items())[:KINDS_MAX]:
        yield Alert(
            kind="order-not-done",
            whose="a host's",
            what=f"{kind}: {detail or 'no reason given'}",
            advice="The owner's rules have priority: outside its hours or limits a host does nothing, and "
            "other hosts get the order.",
            count=len(host_names),
            examples=sorted(set(host_names))[:EXAMPLES_MAX],
        )


def _by_text(
    connection: Connection, text: ColumnElement[str], which: ColumnElement[bool]
) -> list[tuple[str, int]]:
    query = select(text, func.count()).where(which).group_by(text)
    rows = connection.execute(query.order_by(func.count().desc(), text).limit(KINDS_MAX))
    return [(words, int(count)) for words, count in rows]


def _examples(connection: Connection, name: ColumnElement[str], which: ColumnElement[bool]) -> list[str]:
    rows = connection.execute(select(name).where(which).distinct().order_by(name).limit(EXAMPLES_MAX))
    return list(rows.scalars())


def _count(connection: Connection, table: Table, which: ColumnElement[bool]) -> int:
    return int(connection.execute(select(func.count()).select_from(table).where(which)).scalar_one())
