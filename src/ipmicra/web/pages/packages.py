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
        packages, from_whom = await context.run_in_thread(_look, context)
        return packages_page(packages, from_whom, context.clock())

    return [packages]


def _look(context: CoordinatorContext) -> tuple[list[PackageView], list[SenderSummary]]:
    with context.database.read() as connection:
        return latest(connection), senders(connection)


def packages_page(
    packages: Sequence[PackageView], from_whom: Sequence[SenderSummary], now_s: float
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
        panel("Under way, then the latest", packages_table(packages, now_s)),
    ]
    return page("Packages", body, here="/packages")


def packages_table(packages: Sequence[PackageView], now_s: float) -> h.Renderable:
    heads = ("package", "state", TableColumn("bytes", True), "came", "took", "remark")
    rows: list[tuple[h.Node, ...]] = [
        (
            f"{package.crawler} {package.sequence}",
            _state(package),
            formats.short(package.package_bytes, "B"),
            formats.ago(package.received_s, now_s),
            formats.UNKNOWN
            if package.integrated_s is None
            else formats.span(package.integrated_s - package.received_s),
            package.reason,
        )
        for package in packages
    ]
    return table(heads, rows, empty="No packages yet.")


def _state(package: PackageView) -> h.Element:
    word = "being integrated" if package.claimed else _IN_WORDS.get(package.state, package.state)
    return tag(word, _MEANINGS.get(package.state, ""))
