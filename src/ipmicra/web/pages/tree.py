"""The tree of subnets -> a walk from the whole Internet down: which crawler has which subnet, and why.

Invariant: one level at a time, with a limited number of children; delegated ones come first. Every step is a
link, so the walk works without scripts; with scripts it unfolds in place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote

import htpy as h
import numpy as np

from ipmicra.coordinator.store.delegations import DelegationRow
from ipmicra.coordinator.views.ownership import Ownership
from ipmicra.hierarchy import Subnet, SubnetTree
from ipmicra.web import formats
from ipmicra.web.components import tag
from ipmicra.web.geolocation import country_name

CHILDREN_SHOWN = 50
OWNERS_SHOWN = 4


class Level(NamedTuple):
    """Children of a subnet, from one place on, what is held first."""

    shown: list[tuple[Subnet, bool]]  # and whether there is anything inside
    rest: int


class TreeWalk:
    """One tree and what is delegated in it."""

    def __init__(self, tree: SubnetTree, decisions: Mapping[str, DelegationRow]) -> None:
        self.tree = tree
        self._decisions = decisions
        self.holdings = Ownership(tree, decisions)

    def level(self, parent: Subnet, first: int) -> Level:
        children = self.tree.children(parent)
        if not children:
            return Level([], 0)
        held = np.array(self.holdings.counts(parent, children))
        order = np.lexsort((np.arange(len(children)), -held))[first : first + CHILDREN_SHOWN]
        ends = [*children[1:], self.tree.end_of_subtree(parent)]
        shown = [(children[place], ends[place] - children[place] > 1) for place in order.tolist()]
        return Level(shown, max(0, len(children) - first - len(shown)))

    def decision(self, subnet: Subnet) -> DelegationRow | None:
        return self._decisions.get(str(self.tree.range_of(subnet)))

    # --- as HTML ------------------------------------------------------------

    def branches(self, parent: Subnet, first: int = 0) -> h.Node:
        """The items of a list: a level, and the way to its rest."""
        level = self.level(parent, first)
        items: list[h.Node] = [self._branch(subnet, has_more) for subnet, has_more in level.shown]
        if level.rest:
            items.append(self._rest(parent, first + len(level.shown), level.rest))
        return items or h.li(".quiet")["No smaller subnet is registered in it."]

    def trail(self, subnet: Subnet) -> h.Element:
        """From the root down to the subnet itself."""
        path = self.tree.path(subnet)
        return h.ol(".trail")[(h.li[self.described(step, linked=step != subnet)] for step in path)]

    def described(self, subnet: Subnet, linked: bool) -> h.Element:
        tree = self.tree
        text = range_in_words(tree, subnet)
        number = tree.organisation_of(subnet)
        country = tree.country_of(subnet)
        return h.span(".node")[
            h.a(".range", href=address_of(tree, subnet))[text] if linked else h.span(".range")[text],
            h.span[tree.organisation_name(number)] if number >= 0 else None,
            h.span(".quiet.small")[country_name(country)] if country else None,
            self._owner(subnet),
        ]

    def _branch(self, subnet: Subnet, has_more: bool) -> h.Element:
        if not has_more:
            return h.li[self.described(subnet, linked=True)]
        at = quote(str(self.tree.range_of(subnet)))
        return h.li[
            h.details(
                hx_get=f"/tree/children?at={at}",
                hx_trigger="toggle once",
                hx_target="find ul",
            )[
                h.summary[self.described(subnet, linked=False)],
                h.ul[h.li[h.a(href=address_of(self.tree, subnet))["Go in"]]],
            ]
        ]

    def _rest(self, parent: Subnet, first: int, rest: int) -> h.Element:
        at = quote(str(self.tree.range_of(parent)))
        return h.li[
            h.a(
                href=f"{address_of(self.tree, parent)}&first={first}",
                hx_get=f"/tree/children?at={at}&first={first}",
                hx_target="closest li",
                hx_swap="outerHTML",
            )[f"{rest:,} more"]
        ]

    def _owner(self, subnet: Subnet) -> h.Node:
        made = self.decision(subnet)
        if made is not None:
            return [
                tag(made.crawler, "own"),
                h.span(".quiet.small")[
                    made.reasons.words,
                    f" ({formats.milliseconds(made.reasons.round_trip_ms)})"
                    if made.reasons.round_trip_ms is not None
                    else None,
                ],
            ]
        inside = self.holdings.inside(subnet)
        if not inside:
            return None
        shown = ", ".join(f"{name} {count}" for name, count in inside.most_common(OWNERS_SHOWN))
        more = " …" if len(inside) > OWNERS_SHOWN else ""
        return h.span(".quiet.small")[f"delegated inside: {shown}{more}"]


def range_in_words(tree: SubnetTree, subnet: Subnet) -> str:
    text = str(tree.range_of(subnet))
    if tree.parent(subnet) is None:
        return f"The whole Internet, IPv{tree.range_of(subnet).family} ({text})"
    return text


def address_of(tree: SubnetTree, subnet: Subnet) -> str:
    return f"/tree?at={quote(str(tree.range_of(subnet)))}"
