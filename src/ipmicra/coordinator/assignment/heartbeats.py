"""A host's heartbeat -> closed orders, released sites, passive round trips for the leader.

Invariant: a heartbeat has an effect once: an order is closed once, with its consequences in the same
transaction. The rest of the report is stored as the host sent it.
"""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

import msgspec
from sqlalchemy import Connection, delete, select

from ipmicra.coordinator.assignment import assigner, release
from ipmicra.coordinator.ingest import cross_check
from ipmicra.coordinator.metrics import FETCHES, ORDERS_DONE, TEXT_BYTES, count_probe
from ipmicra.coordinator.store import events, handovers, hosts, orders, traffic
from ipmicra.coordinator.store.hosts import HostState
from ipmicra.coordinator.store.sql.schema import passive_table
from ipmicra.model.positions import blurred
from ipmicra.model.urls import Normaliser, site_of
from ipmicra.protocol.host_messages import (
    AssignOwnSites,
    AssignSites,
    Heartbeat,
    ObservePages,
    OrderBody,
    OrderDone,
    Passive,
    ReleaseSites,
    Retire,
)

PASSIVES_AT_ONCE = 1_000
OWN_SITES_MAX = 20  # own sites of one host, however often it asks
_normaliser = Normaliser()
_decode_passive = msgspec.msgpack.Decoder(Passive).decode


class PassiveRoundTrip(NamedTuple):
    """A passive measurement of a crawler, and the time of its report."""

    crawler: str
    at_s: float
    passive: Passive


def apply_heartbeat(
    connection: Connection, host: str, report: Heartbeat, now_s: float, revokes_liars: bool = True
) -> list[str]:
    """Apply a heartbeat. Returns the digests of hand-over states that are no longer needed."""
    unneeded: list[str] = []
    for done in report.done:
        body = orders.close(connection, host, done, now_s)
        if body is not None:
            _count(body, done)
            unneeded += _follow_up(connection, host, body, done, now_s, revokes_liars)
    if report.passive:
        rows = [
            {"crawler": host, "at_s": now_s, "body": msgspec.msgpack.encode(passive)}
            for passive in report.passive[:PASSIVES_AT_ONCE]
        ]
        connection.execute(passive_table.insert(), rows)
        traffic.add(connection, host, report.passive[:PASSIVES_AT_ONCE])
        FETCHES.inc(sum(passive.fetches for passive in report.passive[:PASSIVES_AT_ONCE]))
        TEXT_BYTES.inc(sum(passive.body_bytes for passive in report.passive[:PASSIVES_AT_ONCE]))
    own = map(_normaliser.url, report.own_sites[:OWN_SITES_MAX])
    room = OWN_SITES_MAX - assigner.own_site_count(connection, host) if report.own_sites else 0
    for url in islice(filter(None, own), max(room, 0)):
        assigner.assign_own_site(connection, host, site_of(url), now_s)
    hosts.save_report(connection, host, kept_fields(report))
    return unneeded


def kept_fields(report: Heartbeat) -> dict[str, object]:
    """What is kept of a report, and shown. Hosts of version 0.1 tell their position as it was written."""
    fields: dict[str, object] = msgspec.to_builtins(report)
    for left_out in ("done", "passive"):
        del fields[left_out]
    if report.position is not None:
        latitude, longitude = blurred(report.position)
        fields["position"] = (latitude, longitude)
        if "position" in report.rules:
            fields["rules"] = {**report.rules, "position": f"{latitude:g}, {longitude:g}"}
    return fields


def _count(body: OrderBody, done: OrderDone) -> None:
    kind = type(body).__struct_config__.tag
    ORDERS_DONE.labels(str(kind), "done" if done.done else "refused").inc()
    for result in done.probes:
        count_probe(result, result.way)


def _follow_up(
    connection: Connection,
    host: str,
    body: OrderBody,
    done: OrderDone,
    now_s: float,
    revokes_liars: bool,
) -> list[str]:
    if done.unknown_kind:
        kind = done.unknown_kind
        events.record(connection, events.EventKind.ORDER_REFUSED, host, f"{kind}: {done.detail}", now_s)
        if not isinstance(body, ObservePages):  # the cross-check is repeated with another host
            return []
    if isinstance(body, ReleaseSites):
        for site, epoch in body.sites:
            release.on_site_released(connection, host, site, epoch)
    if isinstance(body, ObservePages):
        cross_check.on_pages_observed(connection, host, body, done, now_s, revokes_liars)
    if isinstance(body, Retire) and done.done:
        hosts.end_host(connection, host, HostState.RETIRED)
        events.record(connection, events.EventKind.HOST_RETIRED, host, body.reason, now_s)
    if isinstance(body, AssignSites | AssignOwnSites) and done.done:
        grants = body.grants if isinstance(body, AssignSites) else body.sites
        with_state = [grant for grant in grants if grant.has_state]
        discarded = [
            handovers.on_state_taken(connection, grant.site, grant.epoch) for grant in with_state
        ]
        return [digest for digest in discarded if digest is not None]
    return []


def read_passives(connection: Connection) -> list[PassiveRoundTrip]:
    """Measurements since the last call, oldest first; they are deleted."""
    rows = connection.execute(
        select(passive_table).order_by(passive_table.c.number).limit(PASSIVES_AT_ONCE)
    ).all()
    if rows:
        connection.execute(delete(passive_table).where(passive_table.c.number <= rows[-1].number))
    return [PassiveRoundTrip(row.crawler, row.at_s, _decode_passive(row.body)) for row in rows]
