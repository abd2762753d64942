"""The status of hosts -> a list, and a page for each: hours, limits, sites, packages, orders.

A host's page offers an operator the allowed commands; other visitors see the page without them, and without
the owner's contact and address.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import htpy as h
from litestar import Response, get
from litestar.exceptions import NotFoundException
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath

from ipmicra.coordinator.api.context import CoordinatorContext
from ipmicra.coordinator.bundles.publishing import published_versions
from ipmicra.coordinator.store import hosts, orders
from ipmicra.coordinator.store.hosts import HostState
from ipmicra.coordinator.views import packages
from ipmicra.coordinator.views.crawlers import CrawlerStatus, crawlers
from ipmicra.coordinator.views.packages import PackageView
from ipmicra.coordinator.views.sites import SiteView, sites_of_crawler
from ipmicra.coordinator.views.status import host_statuses
from ipmicra.protocol.coordinator_api import HostStatus
from ipmicra.web import formats
from ipmicra.web.components import TableColumn, behind, facts, panel, table, tag
from ipmicra.web.navigation import page
from ipmicra.web.pages import operator_forms
from ipmicra.web.pages.hours import hours_of, week
from ipmicra.web.pages.packages import packages_table
from ipmicra.web.session import HttpRequest, SessionGuard, Visitor

SITES_SHOWN = 100
FRESH_SECONDS = 3
UNFOLDED_MAX = 8


class HostSeen(NamedTuple):
    """The content of a host's page."""

    standing: HostStatus
    crawler: CrawlerStatus
    targets: list[str]  # where it could move to
    versions: list[str]  # of its code that are published
    contact: str
    sites: list[SiteView]
    packages: list[PackageView]
    open_orders: dict[str, int]


def host_handlers(context: CoordinatorContext, gate: SessionGuard) -> list[HTTPRouteHandler]:
    @get("/hosts", include_in_schema=False)
    async def everybody() -> Response[str]:
        return hosts_page(await context.run_in_thread(_standing, context), context.clock())

    @get("/hosts/{name:str}", include_in_schema=False)
    async def one(request: HttpRequest, name: FromPath[str]) -> Response[str]:
        seen = await context.run_in_thread(_seen, context, name)
        if seen is None:
            raise NotFoundException(f"No host is called {name!r}.")
        return host_page(seen, await gate.visit(request), context.clock())

    return [everybody, one]


def _standing(context: CoordinatorContext) -> list[HostStatus]:
    with context.database.read() as connection:
        return host_statuses(connection, context.clock())


def _seen(context: CoordinatorContext, name: str) -> HostSeen | None:
    with context.database.read() as connection:
        host = hosts.host_named(connection, name)
        if host is None:
            return None
        standing = next(h for h in host_statuses(connection, context.clock()) if h.name == name)
        sites = sites_of_crawler(connection, name, SITES_SHOWN)
        latest = packages.latest(connection, name)
        everybody = crawlers(connection, context.clock())
        counts = orders.counts(connection, name)
    crawler = next(crawler for crawler in everybody if crawler.name == name)
    versions = [] if context.bundles is None else published_versions(context.bundles)
    targets = operator_forms.targets_of(crawler, everybody)
    return HostSeen(standing, crawler, targets, versions, host.contact, sites, latest, counts)


# --- pages ----------------------------------------------------------------------------------------


def hosts_page(standing: Sequence[HostStatus], now_s: float) -> Response[str]:
    heads = (
        "host",
        "now",
        TableColumn("sites", True),
        TableColumn("pages", True),
        TableColumn("today", True),
        "hours",
        "heard",
    )
    rows = [
        (
            h.a(href=f"/hosts/{host.name}")[host.name],
            state_tag(host),
            formats.number(host.sites),
            formats.number(_number(host, "pages")),
            formats.short(_number(host, "bytes_today"), "B"),
            _rules(host).get("hours", ""),
            formats.ago(host.heard_s, now_s),
        )
        for host in standing
    ]
    empty = h.p["No host is registered yet. ", h.a(href="/admin")["Register the first host"], "."]
    body = [
        h.h1["Hosts"],
        h.p(".lead")["Machines that take part in the crawl, each with its owner's hours and limits."],
        h.section(".panel")[table(heads, rows) if rows else empty],
        h.p[h.a(".button", href="/admin")["Register a host"]] if rows else None,
    ]
    return page("Hosts", body, here="/hosts")


def host_page(seen: HostSeen, visit: Visitor, now_s: float) -> Response[str]:
    host = seen.standing
    body = [
        h.h1[host.name],
        _live_state(host, now_s),
        operator_forms.panel_of(seen.crawler, seen.targets, seen.versions, visit)
        if visit.signed_in
        else None,
        h.div(".grid")[_about(seen, visit, now_s), _hours_panel(host), _limits(host)],
        panel(f"Sites ({formats.number(host.sites)})", _sites(seen)),
        panel("Packages", packages_table(seen.packages[:UNFOLDED_MAX], now_s)),
    ]
    return page(host.name, body, here="/hosts", scripts=("htmx.min.js",))


def _live_state(host: HostStatus, now_s: float) -> h.Element:
    """The host's state; with scripts it is refreshed regularly, together with the panel `now`."""
    return h.p(
        "#state.lead",
        hx_get=f"/hosts/{host.name}",
        hx_trigger=f"every {FRESH_SECONDS}s",
        hx_select="#state",
        hx_select_oob="#now",
        hx_swap="outerHTML",
    )[state_tag(host), " ", _in_words(host, now_s)]


def state_tag(host: HostStatus) -> h.Element:
    if host.state != HostState.ENROLLED:
        return tag(host.state, "own" if host.state == HostState.REGISTERED else "")
    if not host.present:
        return tag("silent", "bad")
    return tag("awake", "good") if host.awake else tag("asleep", "warn")


def _in_words(host: HostStatus, now_s: float) -> str:
    if host.state == HostState.REGISTERED:
        return "Registered; its join token is not used yet. An expired token can be replaced."
    if host.state != HostState.ENROLLED:
        return f"This host is {host.state}; its requests are refused."
    if not host.present:
        return f"Last heard {formats.ago(host.heard_s, now_s)}; its sites have gone to others."
    return "At work." if host.awake else "Resting, by its owner's rules or by order."


def _about(seen: HostSeen, visit: Visitor, now_s: float) -> h.Element:
    host = seen.standing
    orders_open = ", ".join(f"{count} {kind}" for kind, count in seen.open_orders.items())
    pairs: list[tuple[str, h.Node]] = [
        ("crawler", operator_forms.in_words(seen.crawler, now_s)),
        ("code", seen.crawler.code or "installed by its owner"),
        ("heard", formats.ago(host.heard_s, now_s)),
        ("pages fetched", formats.number(_number(host, "pages"))),
        ("used today", formats.short(_number(host, "bytes_today"), "B")),
        ("packages waiting there", formats.number(_number(host, "spooled_packages"))),
        ("orders open", orders_open or "none"),
        ("program", str(host.report.get("version", "")) or formats.UNKNOWN),
        ("lease", f"number {host.epoch}"),
    ]
    if visit.signed_in:
        pairs += [
            ("address", host.address or formats.UNKNOWN),
            ("contact", seen.contact or formats.UNKNOWN),
        ]
    return h.section("#now.panel")[h.h2["Now"], facts(pairs)]


def _hours_panel(host: HostStatus) -> h.Element:
    hours_text = _rules(host).get("hours", "")
    hours = hours_of(hours_text)
    text = hours_text or "Not reported yet."
    return panel("Hours", h.p[text], week(hours) if hours is not None else None)


def _limits(host: HostStatus) -> h.Element:
    rules = [(name, value) for name, value in _rules(host).items() if name != "hours"]
    note = h.p(".quiet.small")["Set by the owner on the machine; they have priority over commands."]
    return panel("Limits", facts(rules) if rules else h.p["Not reported yet."], note)


def _sites(seen: HostSeen) -> h.Node:
    rows = [
        (
            h.a(href=f"/explain?url={site.name}")[site.name],
            site.unit,
            tag(site.state, "good" if site.state == "delegated" else ""),
        )
        for site in seen.sites
    ]
    more = seen.standing.sites - len(rows)
    note = h.p(".quiet.small")[f"and {more:,} more"] if more > 0 else None
    shown = table(("site", "subnet", "state"), rows, empty="It has no sites yet.")
    return behind("All of them", [shown, note]) if len(rows) > UNFOLDED_MAX else shown


def _rules(host: HostStatus) -> dict[str, str]:
    rules = host.report.get("rules")
    return {str(k): str(v) for k, v in rules.items()} if isinstance(rules, dict) else {}


def _number(host: HostStatus, name: str) -> float:
    value = host.report.get(name)
    return value if isinstance(value, int | float) else 0
