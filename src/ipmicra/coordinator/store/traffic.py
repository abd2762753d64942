"""Passive measurements of fetches -> sums by site and crawler: fetches, bytes, bytes times round trip.

Invariant: a sum only grows, in the transaction that applies the report, so a report counts once. Bytes
without a known round trip are left out of both byte sums, so that their quotient is a mean round trip.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import Connection, func, select
from sqlalchemy.dialects import postgresql, sqlite

from ipmicra.coordinator.store.sql.schema import traffic_table
from ipmicra.protocol.host_messages import Passive

SITE_CHARACTERS_MAX = 300


class TrafficTotal(NamedTuple):
    """Fetches and bytes of all sites and crawlers."""

    fetches: int
    body_bytes: int


class SiteTraffic(NamedTuple):
    """Traffic of one crawler with one site."""

    site: str
    crawler: str
    body_bytes: int
    byte_ms: float


def add(connection: Connection, crawler: str, seen: Iterable[Passive]) -> None:
    """Add the measurements of one report."""
    sums: dict[str, dict[str, object]] = {}
    for passive in seen:
        if len(passive.site) <= SITE_CHARACTERS_MAX:
            _add(sums.setdefault(passive.site, _empty_row(passive.site, crawler)), passive)
    if not sums:
        return
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    statement = insert(traffic_table).values(list(sums.values()))
    grown = {
        name: traffic_table.c[name] + statement.excluded[name]
        for name in ("fetches", "body_bytes", "byte_ms")
    }
    keys = [traffic_table.c.site, traffic_table.c.crawler]
    connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=grown))


def _empty_row(site: str, crawler: str) -> dict[str, object]:
    return {"site": site, "crawler": crawler, "fetches": 0, "body_bytes": 0, "byte_ms": 0.0}


def _add(row: dict[str, object], seen: Passive) -> None:
    body_bytes = 0 if seen.round_trip_ms is None else max(0, seen.body_bytes)
    values = {
        "fetches": max(0, seen.fetches),
        "body_bytes": body_bytes,
        "byte_ms": body_bytes * (seen.round_trip_ms or 0.0),
    }
    for name, value in values.items():
        before = row[name]
        assert isinstance(before, int | float)
        row[name] = before + value


def total(connection: Connection) -> TrafficTotal:
    sums = (
        func.coalesce(func.sum(column), 0)
        for column in (traffic_table.c.fetches, traffic_table.c.body_bytes)
    )
    row = connection.execute(select(*sums)).one()
    return TrafficTotal(int(row[0]), int(row[1]))


def site_traffic(connection: Connection) -> list[SiteTraffic]:
    """Traffic by site and crawler."""
    columns = (
        traffic_table.c.site,
        traffic_table.c.crawler,
        traffic_table.c.body_bytes,
        traffic_table.c.byte_ms,
    )
    return [SiteTraffic(*row) for row in connection.execute(select(*columns))]
