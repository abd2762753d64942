"""Troubles by kind -> a page that says whose they are and what to do about them."""

from __future__ import annotations

import htpy as h
from litestar import Response, get
from litestar.handlers import HTTPRouteHandler

from ipmicra.coordinator.service.rooms import Rooms
from ipmicra.coordinator.troubles import Trouble, troubles
from ipmicra.web import words
from ipmicra.web.navigation import page
from ipmicra.web.parts import Column, notice, table, tag

_TITLES = {
    "site-unreachable": "Sites that nobody could reach",
    "site-waits": "Sites that wait for a crawler",
    "host-silent": "Hosts that are silent",
    "lease-lost": "Leases that were lost",
    "line-cut": "Silence of nearly all hosts at once",
    "package-refused": "Packages, or parts of them, that were refused",
    "package-waits": "Packages that wait",
    "order-not-done": "Orders that a host did not do",
}
_MEANINGS = {"ours": "bad", "the operator's": "warn", "a host's": "warn"}


def trouble_handlers(rooms: Rooms) -> list[HTTPRouteHandler]:
    @get("/errors", include_in_schema=False)
    async def errors() -> Response[str]:
        return errors_page(await rooms.aside(_troubles, rooms))

    return [errors]


def _troubles(rooms: Rooms) -> list[Trouble]:
    with rooms.database.read() as connection:
        return troubles(connection, rooms.clock())


def errors_page(found: list[Trouble]) -> Response[str]:
    by_kind: dict[str, list[Trouble]] = {}
    for trouble in found:
        by_kind.setdefault(trouble.kind, []).append(trouble)
    body = [
        h.h1["What goes wrong"],
        h.p(".lead")["By kind: how often, whose it is to mend, and what to do about it."],
        [_kind(kind, troubles) for kind, troubles in by_kind.items()]
        or notice("Nothing goes wrong at the moment."),
    ]
    return page("Errors", body, here="/errors")


def _kind(kind: str, found: list[Trouble]) -> h.Element:
    first = found[0]
    rows: list[tuple[h.Node, ...]] = [
        (trouble.what, words.number(trouble.count), _examples(trouble)) for trouble in found
    ]
    return h.section(".panel")[
        h.h2[_TITLES[kind], " ", tag(f"{first.whose} to mend", _MEANINGS.get(first.whose, ""))],
        h.p[first.advice],
        table(("what", Column("how often", True), "such as"), rows),
    ]


def _examples(trouble: Trouble) -> h.Node:
    shown: list[h.Node] = []
    for name in trouble.examples:
        is_site = trouble.kind.startswith("site-")
        address = f"/explain?url={name}" if is_site else f"/hosts/{name}"
        shown += [", " if shown else "", h.a(href=address)[name]]
    return h.span[shown]
