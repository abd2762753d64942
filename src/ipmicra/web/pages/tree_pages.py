"""Requests for the tree -> its pages, and the levels that unfold in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import htpy as h
from litestar import Response, get
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromQuery, QueryParameter

from ipmicra.coordinator.api.context import CoordinatorContext
from ipmicra.coordinator.store.delegations import DelegationRow
from ipmicra.coordinator.store.unit_codec import unit_from_text
from ipmicra.coordinator.views.sites import SiteView, sites_of_unit
from ipmicra.errors import OperatorFault
from ipmicra.hierarchy import Subnet, SubnetTree
from ipmicra.web import formats
from ipmicra.web.components import TableColumn, facts, notice, panel, table
from ipmicra.web.geolocation import country_name
from ipmicra.web.navigation import fragment, page
from ipmicra.web.pages.tree import TreeWalk, range_in_words
from ipmicra.web.sampler import Sampler

SITES_SHOWN = 50
GROUNDS_SHOWN = 200
ADDRESSES_IN_DIGITS = 1 << 33
_First = Annotated[int, QueryParameter(ge=0, le=10_000_000)]


class TreePages:
    """The walk is made anew when a decision has been made."""

    def __init__(self, context: CoordinatorContext, sampler: Sampler) -> None:
        self._context, self._sampler = context, sampler
        self._walk: TreeWalk | None = None
        self._made_of = -1

    def handlers(self) -> list[HTTPRouteHandler]:
        @get("/tree", include_in_schema=False)
        async def tree(at: FromQuery[str] = "", first: _First = 0) -> Response[str]:
            await self._sampler.now()
            return await self._context.run_in_thread(self._page, at, first)

        @get("/tree/children", include_in_schema=False)
        async def children(at: FromQuery[str], first: _First = 0) -> Response[str]:
            return await self._context.run_in_thread(self._children, at, first)

        return [tree, children]

    def _page(self, at: str, first: int) -> Response[str]:
        walk = self._current()
        if walk is None:
            return flat_page(list(self._sampler.decisions.by_unit.values()), self._context.clock())
        if not at:
            return _roots_page(walk)
        subnet = _subnet_at(walk.tree, at)
        return _subnet_page(walk, subnet, first, self._sites(walk, subnet), self._context.clock())

    def _children(self, at: str, first: int) -> Response[str]:
        walk = self._current()
        if walk is None:
            raise OperatorFault("no tree of subnets is loaded")
        return fragment(walk.branches(_subnet_at(walk.tree, at), first))

    def _current(self) -> TreeWalk | None:
        """None where there is no tree to walk."""
        tree, decisions = self._context.tree, self._sampler.decisions
        if not isinstance(tree, SubnetTree):
            return None
        if self._walk is None or self._made_of != decisions.version:
            self._made_of = decisions.version
            self._walk = TreeWalk(tree, dict(decisions.by_unit))
        return self._walk

    def _sites(self, walk: TreeWalk, subnet: Subnet) -> list[SiteView]:
        with self._context.database.read() as connection:
            return sites_of_unit(connection, str(walk.tree.range_of(subnet)), SITES_SHOWN)


def _subnet_at(tree: SubnetTree, text: str) -> Subnet:
    """The subnet of this very range, or the smallest that holds an address."""
    unit = unit_from_text(tree, text.strip())
    if unit is None or isinstance(unit, str):
        raise OperatorFault(
            f"the tree has no subnet {text!r}; write a range or an address that is in it"
        )
    return unit if isinstance(unit, int) else tree.smallest(unit)


def _finder() -> h.Element:
    return h.form(".row", action="/explain")[
        h.input(
            name="url",
            required=True,
            maxlength="2000",
            aria_label="A page or site",
            placeholder="https://example.org/",
        ),
        h.button["Explain"],
        h.span(".quiet.small")["Which crawler has this page, and why?"],
    ]


def _roots_page(walk: TreeWalk) -> Response[str]:
    roots = [walk.tree.root(4), walk.tree.root(6)]
    body: list[h.Node] = [
        h.h1["The tree of subnets"],
        h.p(".lead")[
            f"{len(walk.tree):,} address ranges as the Internet's registries have them. "
            "Delegated ranges come first."
        ],
        h.section(".panel")[_finder()],
        [panel(range_in_words(walk.tree, root), h.ul(".tree")[walk.branches(root)]) for root in roots],
    ]
    return page("Tree", body, here="/tree", scripts=("htmx.min.js",))


def _subnet_page(
    walk: TreeWalk, subnet: Subnet, first: int, sites: Sequence[SiteView], now_s: float
) -> Response[str]:
    tree = walk.tree
    made = walk.decision(subnet)
    body = [
        h.h1(".mono")[str(tree.range_of(subnet))],
        walk.trail(subnet),
        h.div(".grid")[
            panel("Registered", _registered(walk.tree, subnet)),
            panel("Delegated", _decided(made, now_s)),
        ],
        panel("Inside", h.ul(".tree")[walk.branches(subnet, first)]),
        panel("Sites", _sites_table(sites)),
    ]
    return page(str(tree.range_of(subnet)), body, here="/tree", scripts=("htmx.min.js",))


def _registered(tree: SubnetTree, subnet: Subnet) -> h.Element:
    number, asn = tree.organisation_of(subnet), tree.asn_of(subnet)
    country = tree.country_of(subnet)
    return facts(
        [
            ("organisation", tree.organisation_name(number) if number >= 0 else formats.UNKNOWN),
            ("country", country_name(country) if country else formats.UNKNOWN),
            ("registry", tree.registry_of(subnet) or formats.UNKNOWN),
            ("announced by", f"AS{asn}" if asn else formats.UNKNOWN),
            ("addresses", _amount(tree.range_of(subnet).size)),
        ]
    )


def _amount(size: int) -> str:
    """Large numbers as a power of two."""
    return formats.number(size) if size < ADDRESSES_IN_DIGITS else f"2^{size.bit_length() - 1}"


def _decided(made: DelegationRow | None, now_s: float) -> h.Node:
    if made is None:
        return h.p["Not as a whole; subnets inside it may be delegated."]
    return facts(
        [
            ("crawler", h.a(href=f"/hosts/{made.crawler}")[made.crawler]),
            ("why", made.reasons.words),
            ("round trip", formats.milliseconds(made.reasons.round_trip_ms)),
            ("probes", formats.number(len(made.reasons.probes))),
            ("decided", formats.ago(made.decided_s, now_s)),
        ]
    )


def _sites_table(sites: Sequence[SiteView]) -> h.Renderable:
    rows = [
        (h.a(href=f"/explain?url={site.name}")[site.name], site.crawler or "none yet") for site in sites
    ]
    return table(("site", "crawler"), rows, empty="No site is known in it.")


def flat_page(decisions: Sequence[DelegationRow], now_s: float) -> Response[str]:
    """Without a tree: what is delegated, address by address."""
    rows = [
        (
            made.unit,
            h.a(href=f"/hosts/{made.crawler}")[made.crawler],
            made.reasons.words,
            formats.milliseconds(made.reasons.round_trip_ms),
            formats.ago(made.decided_s, now_s),
        )
        for made in sorted(decisions, key=lambda made: made.unit)[:GROUNDS_SHOWN]
    ]
    advice = [
        "No tree of subnets is loaded, so every address is delegated separately. Build one with ",
        h.code["ipmicra registry fetch"],
        " and ",
        h.code["ipmicra registry build"],
        ", then start the coordinator again.",
    ]
    heads = ("address", "crawler", "why", TableColumn("round trip", True), "decided")
    body = [
        h.h1["The tree of subnets"],
        notice(advice, "warn"),
        h.section(".panel")[_finder()],
        panel("Delegated", table(heads, rows, empty="Nothing is delegated yet.")),
    ]
    return page("Tree", body, here="/tree")
