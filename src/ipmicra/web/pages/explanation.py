"""A URL -> a page that says which crawler has it and why: path, decision, probes, candidates, strategies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated
from urllib.parse import quote

import htpy as h
from litestar import Response, get
from litestar.handlers import HTTPRouteHandler
from litestar.params import QueryParameter

from ipmicra.coordinator.api.context import CoordinatorContext
from ipmicra.coordinator.views import explanation
from ipmicra.errors import OperatorFault
from ipmicra.protocol.coordinator_api import Candidate, Explanation, SubnetSeen
from ipmicra.web import formats
from ipmicra.web.components import TableColumn, bar, facts, notice, panel, table, tag
from ipmicra.web.geolocation import country_name
from ipmicra.web.navigation import page

_PageUrl = Annotated[str, QueryParameter(name="url", max_length=2000)]


def explain_handlers(context: CoordinatorContext) -> list[HTTPRouteHandler]:
    @get("/explain", include_in_schema=False)
    async def explain(url: _PageUrl = "") -> Response[str]:
        if not url.strip():
            return _page("", None)
        try:
            return _page(url, await context.questions.run(_explained, context, url.strip()))
        except OperatorFault as fault:
            return _page(url, None, str(fault), 400)

    return [explain]


def _explained(context: CoordinatorContext, url: str) -> Explanation:
    site = explanation.site_in(url)
    with context.database.read() as connection:
        return explanation.explain(connection, context.tree, site, context.clock())


def _page(url: str, found: Explanation | None, complaint: str = "", status: int = 200) -> Response[str]:
    body = [
        h.h1["Which crawler has it, and why?"],
        h.section(".panel")[
            h.form(".row", action="/explain")[
                h.input(
                    name="url",
                    required=True,
                    maxlength="2000",
                    value=url,
                    aria_label="A page or site",
                    placeholder="https://example.org/",
                ),
                h.button["Explain"],
            ]
        ],
        notice(complaint, "bad") if complaint else None,
        _explanation(found) if found is not None else None,
    ]
    return page("Explain", body, here="/tree", status=status)


def _explanation(found: Explanation) -> h.Node:
    return [
        h.div(".grid")[
            _verdict(found), panel("Location in the tree", _path(found.path), _note(found.path_note))
        ],
        panel("Probes of the decision", _probes(found)),
        panel("Steps", _steps(found)) if found.steps else None,
        h.div(".grid.wide")[
            panel("Known round trips", _remembered(found)),
            panel("Crawlers that are present", _candidates(found.candidates)),
            panel("What other strategies would choose", _opinions(found)),
        ],
    ]


def _verdict(found: Explanation) -> h.Element:
    near = found.nearest
    owner = h.a(href=f"/hosts/{near.crawler}")[near.crawler] if near.crawler else "nobody yet"
    return panel(
        near.site,
        facts(
            [
                ("crawler", owner),
                ("state", tag(near.state, "good" if near.state == "delegated" else "")),
                ("why", near.why or near.note or formats.UNKNOWN),
                ("round trip", formats.milliseconds(near.round_trip_ms)),
                ("address", near.address or formats.UNKNOWN),
                ("subnet", _subnet_link(near.subnet) if near.subnet else formats.UNKNOWN),
                (
                    "decided",
                    f"{formats.span(found.age_s)} ago" if found.age_s is not None else formats.UNKNOWN,
                ),
                ("strategy", found.decided_by or formats.UNKNOWN),
            ]
        ),
        _note(near.note if near.why else ""),
    )


def _subnet_link(text: str) -> h.Element:
    return h.a(".mono", href=f"/tree?at={quote(text)}")[text]


def _note(text: str) -> h.Node:
    return h.p(".quiet.small")[text] if text else None


def _path(path: Sequence[SubnetSeen]) -> h.Node:
    if not path:
        return h.p(".quiet")["Not known yet."]
    return h.ol(".trail")[
        (
            h.li(".node")[
                _subnet_link(step.range),
                " ",
                step.organisation or ("the whole Internet" if step is path[0] else ""),
                " ",
                h.span(".quiet.small")[country_name(step.country)] if step.country else None,
            ]
            for step in path
        )
    ]


def _probes(found: Explanation) -> h.Node:
    longest = max((ms for _, ms, _ in found.probes if ms is not None), default=1.0) or 1.0
    rows: list[tuple[h.Node, ...]] = [
        (
            name,
            formats.milliseconds(ms) if ms is not None else silence or "no answer",
            bar(ms / longest) if ms is not None else "",
        )
        for name, ms, silence in sorted(found.probes, key=lambda p: p[1] if p[1] is not None else 1e12)
    ]
    return table(
        ("crawler", TableColumn("round trip", True), "length"), rows, empty="No probe was needed."
    )


def _steps(found: Explanation) -> h.Node:
    return table(("looked at", "found"), found.steps)


def _remembered(found: Explanation) -> h.Node:
    heads = (
        "crawler",
        TableColumn("round trip", True),
        TableColumn("probes", True),
        TableColumn("fetches", True),
        "age",
    )
    rows = [
        (
            seen.crawler,
            formats.milliseconds(seen.round_trip_ms),
            formats.number(seen.probes),
            formats.number(seen.fetches),
            formats.span(seen.age_s),
        )
        for seen in found.remembered
    ]
    return table(heads, rows, empty="None.")


def _candidates(candidates: Sequence[Candidate]) -> h.Node:
    heads = (
        "crawler",
        "now",
        TableColumn("sites", True),
        TableColumn("today", True),
        TableColumn("daily limit", True),
    )
    rows: list[tuple[h.Node, ...]] = [
        (
            h.a(href=f"/hosts/{seen.crawler}")[seen.crawler],
            tag("awake", "good") if seen.awake else tag("asleep", "warn"),
            formats.number(seen.sites),
            formats.short(seen.bytes_today, "B"),
            formats.short(seen.capacity_bytes_a_day, "B") if seen.capacity_bytes_a_day else "no limit",
        )
        for seen in candidates
    ]
    return table(heads, rows, empty="No crawler is present.")


def _opinions(found: Explanation) -> h.Node:
    rows = [(name, choice) for name, choice in found.others.items()]
    return table(("strategy", "would choose"), rows, empty="Nothing to decide on yet.")
