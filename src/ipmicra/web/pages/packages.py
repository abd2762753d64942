"""Packages -> a page: those to be integrated, the latest ones, and totals by crawler."""

from __future__ import annotations

from collections.abc import Sequence

import htpy as h
from litestar import Response, get
from litestar.handlers import HTTPRouteHandler

from ipmicra.coordinator.api.context import CoordinatorContext
from ipmicra.coordinator.views.packages import PackageView, SenderSummary, latest, senders
from ipmicra.web import formats
from ipmicra.web.components import Figure, TableColumn, figures, panel, table, tag
from ipmicra.web.navigation import page

_MEANINGS = {"kept": "warn", "integrated": "good", "refused": "bad"}
_IN_WORDS = {"kept": "under way"}


def package_handlers(context: CoordinatorContext) -> list[HTTPRouteHandler]:
    @get("/packages", include_in_schema=False)
    async def packages() -> Response[str]:
        parcels, from_whom = await context.run_in_thread(_look, context)
        return packages_page(parcels, from_whom, context.clock())

    return [packages]


def _look(context: CoordinatorContext) -> tuple[list[PackageView], list[SenderSummary]]:
    with context.database.read() as connection:
        return latest(connection), senders(connection)


def packages_page(
    parcels: Sequence[PackageView], from_whom: Sequence[SenderSummary], now_s: float
) -> Response[str]:
    totals = [
        Figure(
            "spooled",
            "On hosts",
            formats.number(sum(s.spooled for s in from_whom)),
            "packed, not sent yet",
        ),
        Figure(
            "waiting",
            "Under way",
            formats.number(sum(s.waiting for s in from_whom)),
            "safe here, not in the index yet",
        ),
        Figure(
            "integrated",
            "Integrated",
            formats.number(sum(s.integrated for s in from_whom)),
            "can be searched",
        ),
        Figure(
            "home",
            "Bytes received",
            formats.short(sum(s.home_bytes for s in from_whom), "B"),
            "compressed",
        ),
    ]
    columns = ("on the host", "under way", "integrated", "refused", "bytes received")
    heads: tuple[TableColumn | str, ...] = ("crawler", *(TableColumn(name, True) for name in columns))
    rows: list[tuple[h.Node, ...]] = [
        (
            h.a(href=f"/hosts/{s.crawler}")[s.crawler],
            *map(formats.number, (s.spooled, s.waiting, s.integrated, s.refused)),
            formats.short(s.home_bytes, "B"),
        )
        for s in from_whom
    ]
    body = [
        h.h1["Packages"],
        h.p(".lead")[
            "Crawlers deliver what they fetched in compressed packages; each package counts once."
        ],
        figures(totals),
        panel("By crawler", table(heads, rows, empty="No package has arrived yet.")),
        panel("Under way, then the latest", parcels_table(parcels, now_s)),
    ]
    return page("Packages", body, here="/packages")


def parcels_table(parcels: Sequence[PackageView], now_s: float) -> h.Renderable:
    heads = ("package", "state", TableColumn("bytes", True), "came", "took", "remark")
    rows: list[tuple[h.Node, ...]] = [
        (
            f"{parcel.crawler} {parcel.sequence}",
            _state(parcel),
            formats.short(parcel.package_bytes, "B"),
            formats.ago(parcel.received_s, now_s),
            formats.UNKNOWN
            if parcel.integrated_s is None
            else formats.span(parcel.integrated_s - parcel.received_s),
            parcel.reason,
        )
        for parcel in parcels
    ]
    return table(heads, rows, empty="No packages yet.")


def _state(parcel: PackageView) -> h.Element:
    word = "being integrated" if parcel.claimed else _IN_WORDS.get(parcel.state, parcel.state)
    return tag(word, _MEANINGS.get(parcel.state, ""))
