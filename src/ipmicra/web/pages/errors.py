"""Alerts and failed visits by kind -> a page with the party that can fix each, and advice."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

import htpy as h
from litestar import Response, get
from litestar.handlers import HTTPRouteHandler

from ipmicra.coordinator.api.context import CoordinatorContext
from ipmicra.coordinator.store.failures import DAYS
from ipmicra.coordinator.views.alerts import alert_list
from ipmicra.protocol.coordinator_api import Alert, AlertList, FailedVisits
from ipmicra.web import formats
from ipmicra.web.components import TableColumn, bar, behind, notice, panel, table, tag
from ipmicra.web.navigation import page

_TITLES = {
    "site-unreachable": "Sites that no crawler could reach",
    "site-waits": "Sites that wait for a crawler",
    "host-silent": "Hosts that are silent",
    "lease-lost": "Leases that expired",
    "line-cut": "Silence of nearly all hosts at once",
    "package-refused": "Refused packages, or parts of packages",
    "package-waits": "Packages that wait",
    "order-not-done": "Orders that a host did not carry out",
    "order-unknown": "Orders of a kind that a host does not know",
}
_MEANINGS = {"ours": "bad", "the operator's": "warn", "a host's": "warn"}
_NOBODYS = "nobody's"
EXAMPLES_SHOWN = 5  # of one family


def error_handlers(context: CoordinatorContext) -> list[HTTPRouteHandler]:
    @get("/errors", include_in_schema=False)
    async def errors() -> Response[str]:
        return errors_page(await context.run_in_thread(_errors, context), context.clock())

    return [errors]


def _errors(context: CoordinatorContext) -> AlertList:
    with context.database.read() as connection:
        return alert_list(connection, context.clock())


def errors_page(found: AlertList, now_s: float) -> Response[str]:
    by_kind: dict[str, list[Alert]] = {}
    for trouble in found.troubles:
        by_kind.setdefault(trouble.kind, []).append(trouble)
    body: list[h.Node] = [
        h.h1["What goes wrong"],
        h.p(".lead")[
            "By kind: how often, who can fix it, and what to do. The same ",
            h.a(href="/v1/errors")["as JSON"],
            ".",
        ],
        [_kind(kind, troubles) for kind, troubles in by_kind.items()],
        _failed(found.failures, now_s) if found.failures else None,
        None if found.troubles or found.failures else notice("Nothing goes wrong at the moment."),
    ]
    return page("Errors", body, here="/errors")


def _kind(kind: str, found: list[Alert]) -> h.Element:
    first = found[0]
    rows: list[tuple[h.Node, ...]] = [
        (trouble.what, formats.number(trouble.count), _examples(trouble)) for trouble in found
    ]
    return h.section(".panel")[
        _title(_TITLES[kind], first.whose),
        h.p[first.advice],
        table(("what", TableColumn("how often", True), "such as"), rows),
    ]


def _title(title: str, whose: str) -> h.Element:
    return h.h2[title, " ", _mending(whose)]


def _mending(whose: str) -> h.Element:
    mending = "nothing to fix" if whose == _NOBODYS else f"{whose} to fix"
    return tag(mending, _MEANINGS.get(whose, ""))


def _examples(trouble: Alert) -> h.Node:
    shown: list[h.Node] = []
    for name in trouble.examples:
        is_site = trouble.kind.startswith("site-")
        shown += [", " if shown else "", _explained(name) if is_site else _crawler(name)]
    return h.span[shown]


# --- failed visits --------------------------------------------------------------------------------


def _failed(found: Sequence[FailedVisits], now_s: float) -> h.Fragment:
    by_family: dict[str, list[FailedVisits]] = {}
    for one in found:
        by_family.setdefault(one.family, []).append(one)
    families = sorted(by_family.values(), key=_rank)
    return h.fragment[
        h.h2(".part")["Pages that crawlers could not fetch"],
        h.p(".lead")[f"In the last {DAYS} days, each after the retries for its kind."],
        _overview(families, now_s),
        [_family(kinds, now_s) for kinds in families],
    ]


def _rank(kinds: Sequence[FailedVisits]) -> tuple[bool, int]:
    """The most frequent first; kinds that need no fix come last."""
    return kinds[0].whose == _NOBODYS, -_visits(kinds)


def _visits(kinds: Sequence[FailedVisits]) -> int:
    return sum(one.count for one in kinds)


def _overview(families: Sequence[Sequence[FailedVisits]], now_s: float) -> h.Element:
    most = max(map(_visits, families))
    rows: list[tuple[h.Node, ...]] = [
        (
            h.a(href=f"#{kinds[0].family}")[kinds[0].title],
            formats.number(_visits(kinds)),
            bar(_visits(kinds) / most),
            _mending(kinds[0].whose),
            formats.ago(max(one.latest_s for one in kinds), now_s),
        )
        for kinds in families
    ]
    heads = ("kind", TableColumn("visits", True), "share", "responsible", "latest")
    return panel("At a glance", table(heads, rows))


def _family(kinds: Sequence[FailedVisits], now_s: float) -> h.Element:
    first = kinds[0]
    heads = ("what", TableColumn("visits", True), TableColumn("sites", True), "latest")
    rows: list[tuple[h.Node, ...]] = [
        (
            one.what,
            formats.number(one.count),
            formats.number(one.sites),
            formats.ago(one.latest_s, now_s),
        )
        for one in kinds
    ]
    return h.section(".panel", id=first.family)[
        _title(first.title, first.whose),
        h.p[first.advice],
        table(heads, rows),
        behind("The newest of them", _newest(kinds, now_s)),
    ]


def _newest(kinds: Sequence[FailedVisits], now_s: float) -> h.Renderable:
    """One of each site, the newest first."""
    examples = [(one, kind.what) for kind in kinds for one in kind.examples]
    newest = sorted(examples, key=lambda pair: -pair[0].at_s)[:EXAMPLES_SHOWN]
    rows: list[tuple[h.Node, ...]] = [
        (
            h.span(".mono")[_explained(one.site, one.url) if one.site else one.url],
            one.detail or what,
            _crawler(one.crawler),
            h.span(".nowrap", title=formats.moment(one.at_s))[formats.ago(one.at_s, now_s)],
        )
        for one, what in newest
    ]
    return table(("page", "reported reason", "crawler", "when"), rows)


def _explained(site: str, shown: str = "") -> h.Element:
    """A link to the page that says which crawler has the site, and why."""
    return h.a(href=f"/explain?url={quote(site, safe=':/[]')}")[shown or site]


def _crawler(name: str) -> h.Element:
    return h.a(href=f"/hosts/{quote(name)}")[name]
