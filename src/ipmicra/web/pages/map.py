"""Crawlers and their delegated subnets -> a map, and tables with the same content.

The browser draws the map (d3-geo) from /map.json; without scripts the tables are shown.
"""

from __future__ import annotations

import ipaddress

import htpy as h
import msgspec
from litestar import Response, get
from litestar.handlers import HTTPRouteHandler

from ipmicra.coordinator.api.context import CoordinatorContext
from ipmicra.coordinator.store.hosts import Host, all_hosts
from ipmicra.coordinator.store.liveness import is_awake, is_present, parse_report
from ipmicra.coordinator.store.sites import counts_by_crawler
from ipmicra.coordinator.views.sites import DelegatedUnit, addresses_by_unit
from ipmicra.theme.assets import asset_address
from ipmicra.web import formats
from ipmicra.web.components import TableColumn, behind, table, tag
from ipmicra.web.geolocation import Spot, country_name, middle_of, reported_position, spread
from ipmicra.web.navigation import NO_STORE, page
from ipmicra.web.sampler import Sampler

SUBNETS_DRAWN = 2_000
ROWS_SHOWN = 300
SCRIPTS = ("d3-array.min.js", "d3-geo.min.js", "topojson-client.min.js", "map.js")


class CrawlerSpot(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    at: Spot | None
    awake: bool
    sites: int
    by: str  # how the position is known


class SubnetSpot(msgspec.Struct, frozen=True, kw_only=True):
    range: str
    at: Spot | None
    country: str
    crawler: str
    round_trip_ms: float | None
    sites: int


class Atlas(msgspec.Struct, frozen=True, kw_only=True):
    crawlers: list[CrawlerSpot]
    subnets: list[SubnetSpot]


class MapPages:
    def __init__(self, context: CoordinatorContext, sampler: Sampler) -> None:
        self._context, self._sampler = context, sampler

    def handlers(self) -> list[HTTPRouteHandler]:
        @get("/map", include_in_schema=False)
        async def page() -> Response[str]:
            return map_page(await self._look())

        @get("/map.json", include_in_schema=False)
        async def data() -> Response[bytes]:
            body = msgspec.json.encode(await self._look())
            return Response(body, media_type="application/json", headers=NO_STORE)

        return [page, data]

    async def _look(self) -> Atlas:
        await self._sampler.now()
        return await self._context.run_in_thread(self._atlas)

    def _atlas(self) -> Atlas:
        now_s = self._context.clock()
        with self._context.database.read() as connection:
            present = [host for host in all_hosts(connection) if is_present(host, now_s)]
            counts = counts_by_crawler(connection)
            units = addresses_by_unit(connection)
        crawlers = [self._crawler(host, counts.get(host.name, 0), now_s) for host in present]
        return Atlas(crawlers=crawlers, subnets=self._subnets(units))

    def _crawler(self, host: Host, sites: int, now_s: float) -> CrawlerSpot:
        reported = reported_position(host.report)
        country = self._country(host.address)
        return CrawlerSpot(
            name=host.name,
            at=reported or middle_of(country),
            awake=is_awake(parse_report(host), now_s),
            sites=sites,
            by="its owner"
            if reported
            else f"its address, in {country_name(country)}"
            if country
            else "nobody",
        )

    def _subnets(self, units: dict[DelegatedUnit, list[str]]) -> list[SubnetSpot]:
        """The subnets with the most sites, each at its own position in its country."""
        most = sorted(units.items(), key=lambda item: (-len(item[1]), item[0]))[:SUBNETS_DRAWN]
        placed: dict[str, int] = {}
        found = []
        for (unit, crawler), addresses in most:
            country = self._country(addresses[0])
            middle, number = middle_of(country), placed.get(country, 0)
            placed[country] = number + 1
            made = self._sampler.decisions.by_unit.get(unit)
            found.append(
                SubnetSpot(
                    range=unit,
                    at=None if middle is None else spread(middle, number),
                    country=country,
                    crawler=crawler,
                    round_trip_ms=None if made is None else made.reasons.round_trip_ms,
                    sites=len(addresses),
                )
            )
        return found

    def _country(self, address: str) -> str:
        try:
            tree = self._context.tree
            return tree.country_of(tree.smallest(ipaddress.ip_address(address)))
        except ValueError:
            return ""


def map_page(atlas: Atlas) -> Response[str]:
    lost = sum(subnet.at is None for subnet in atlas.subnets)
    note = f" The country of {lost} is not known: they are in the table only." if lost else ""
    svg = h.Element("svg")
    body = [
        h.h1["Crawlers and their subnets"],
        h.p(".lead")[
            f"{formats.plural(len(atlas.crawlers), 'crawler')} and "
            f"{formats.plural(len(atlas.subnets), 'delegated subnet')}, "
            f"each subnet drawn in its country.{note}"
        ],
        h.section(".panel")[
            svg(
                "#map.drawing",
                role="img",
                aria_label="A world map; the tables below say the same",
                data_land=asset_address("land-110m.json"),
            ),
            h.p(".legend.small")[
                h.span(".key.crawler-key")["crawler"],
                h.span(".key.near-key")["under 50 ms"],
                h.span(".key.middle-key")["50 to 150 ms"],
                h.span(".key.far-key")["over 150 ms"],
            ],
            behind("The same as tables", _tables(atlas)),
        ],
    ]
    return page("Map", body, here="/map", scripts=SCRIPTS)


def _tables(atlas: Atlas) -> h.Node:
    crawlers: list[tuple[h.Node, ...]] = [
        (
            h.a(href=f"/hosts/{spot.name}")[spot.name],
            tag("awake", "good") if spot.awake else tag("asleep", "warn"),
            formats.number(spot.sites),
            _degrees(spot.at),
            spot.by,
        )
        for spot in atlas.crawlers
    ]
    subnets: list[tuple[h.Node, ...]] = [
        (
            h.a(".mono", href=f"/tree?at={spot.range}")[spot.range],
            country_name(spot.country) if spot.country else formats.UNKNOWN,
            spot.crawler,
            formats.milliseconds(spot.round_trip_ms),
            formats.number(spot.sites),
        )
        for spot in atlas.subnets[:ROWS_SHOWN]
    ]
    more = len(atlas.subnets) - len(subnets)
    heads = ("subnet", "country", "crawler", TableColumn("round trip", True), TableColumn("sites", True))
    return [
        table(
            ("crawler", "now", TableColumn("sites", True), "place", "told by"),
            crawlers,
            caption="Crawlers",
        ),
        table(heads, subnets, caption="Delegated subnets"),
        h.p(".quiet.small")[f"and {more:,} more"] if more else None,
    ]


def _degrees(at: Spot | None) -> str:
    if at is None:
        return formats.UNKNOWN
    north = "N" if at.latitude >= 0 else "S"
    east = "E" if at.longitude >= 0 else "W"
    return f"{abs(at.latitude):.1f}° {north}, {abs(at.longitude):.1f}° {east}"
