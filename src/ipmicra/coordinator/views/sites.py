"""Rows of sites -> the sites of a crawler or of a subnet, and the delegation units with their addresses.

Invariant: a view writes nothing. The lists for people are bounded by their caller.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, select

from ipmicra.coordinator.store.sql.schema import site_table


class SiteView(NamedTuple):
    name: str
    unit: str  # the delegation unit; empty where the site is not delegated
    state: str
    crawler: str | None


class DelegatedUnit(NamedTuple):
    unit: str  # a range, or a lone address
    crawler: str


_COLUMNS = (site_table.c.name, site_table.c.ground, site_table.c.state, site_table.c.crawler)


def sites_of_crawler(connection: Connection, crawler: str, most: int) -> list[SiteView]:
    return _sites(connection, site_table.c.crawler == crawler, most)


def sites_of_unit(connection: Connection, unit: str, most: int) -> list[SiteView]:
    return _sites(connection, site_table.c.ground == unit, most)


def addresses_by_unit(connection: Connection) -> dict[DelegatedUnit, list[str]]:
    """The addresses of the delegated sites; a site without a subnet counts by its own address."""
    query = select(site_table.c.ground, site_table.c.crawler, site_table.c.address).where(
        site_table.c.crawler.is_not(None), site_table.c.address != ""
    )
    units: dict[DelegatedUnit, list[str]] = {}
    for unit, crawler, address in connection.execute(query):
        units.setdefault(DelegatedUnit(unit or address, crawler), []).append(address)
    return units


def _sites(connection: Connection, wanted: ColumnElement[bool], most: int) -> list[SiteView]:
    query = select(*_COLUMNS).where(wanted).order_by(site_table.c.name).limit(most)
    return [SiteView(*row) for row in connection.execute(query)]
