"""A sample and its history -> the overview page: totals, rates, and what delegation saves."""

from __future__ import annotations

from collections.abc import Sequence

import htpy as h
import msgspec
from litestar import Response

from ipmicra.coordinator.views.statistics import CrawlStatistics
from ipmicra.coordinator.views.status import public_detail
from ipmicra.protocol.coordinator_api import EventView
from ipmicra.web import formats
from ipmicra.web.components import Figure, TableColumn, behind, figures, panel, table
from ipmicra.web.navigation import page
from ipmicra.web.sampler import SamplePoint, StatusSample

EVENTS_SHOWN = 8
ROWS_MAX = 30  # of the table behind the curves
SCRIPTS = ("uplot.min.js", "live.js")


def overview_figures(sample: StatusSample) -> list[Figure]:
    """Every number of the page, by key."""
    now, near, point = sample.crawl_statistics, sample.delegation_statistics, sample.point
    share = near.savings.saved_share
    saved = (
        "nothing to compare yet"
        if share is None
        else f"{formats.percent(share)} of what hashing would have cost"
    )
    return [
        Figure("pages", "Pages", formats.number(point.pages), _home(now)),
        Figure("sites", "Sites", formats.number(now.delegated), f"of {formats.number(now.sites)} known"),
        Figure(
            "subnets",
            "Subnets delegated",
            formats.number(near.subnets),
            "the smallest known around each site",
        ),
        Figure(
            "crawlers",
            "Crawlers",
            formats.number(now.present),
            f"{now.awake} awake, {formats.plural(now.hosts, 'host')} registered",
        ),
        Figure(
            "rate",
            "Pages per second",
            formats.number(point.pages_a_second, 1),
            f"{formats.number(now.fetches)} fetched, {formats.short(now.body_bytes, 'B')}",
        ),
        Figure(
            "probes",
            "Probes per delegation",
            formats.number(near.probes_per_delegation, 2),
            f"{formats.plural(near.probes, 'probe')} in all",
        ),
        Figure(
            "unprobed",
            "Delegated without a probe",
            formats.percent(near.share_without_probe),
            f"{formats.number(near.sites - near.probed_sites)} of {formats.plural(near.sites, 'site')}",
        ),
        Figure(
            "saved",
            "Bytes × ms saved",
            formats.short(near.savings.saved_byte_ms),
            saved,
            proud=True,
        ),
    ]


def _home(now: CrawlStatistics) -> str:
    under_way = f", {now.packages_waiting} under way" if now.packages_waiting else ""
    packages = formats.plural(now.packages, "package")
    return f"{formats.short(now.home_bytes, 'B')} home in {packages}{under_way}"


def overview_page(
    sample: StatusSample, history: Sequence[SamplePoint], events: Sequence[EventView], now_s: float
) -> Response[str]:
    body = [
        h.h1["The crawl at a glance"],
        h.p(".lead")[
            "Every subnet is crawled by the crawler nearest to it. ",
            h.span("#live.live", role="status")["as of ", formats.moment(now_s)],
        ],
        figures(overview_figures(sample)),
        h.div(".grid")[
            _curve("Pages per second", "rate", 1, history),
            _curve("Bytes × ms saved against hashing", "saved", 2, history),
        ],
        _events(events, now_s),
    ]
    return page("Overview", body, here="/", scripts=SCRIPTS, styles=("uplot.min.css",))


def _curve(title: str, key: str, place: int, history: Sequence[SamplePoint]) -> h.Element:
    points = [[p.at_s, p.pages_a_second, p.saved_byte_ms] for p in history]
    data = [[point[0] for point in points], [point[place] for point in points]]
    shown = h.div(
        ".chart", id=f"chart-{key}", data_place=place, data_points=msgspec.json.encode(data).decode()
    )
    digits = 1 if key == "rate" else 0
    step = max(1, len(points) // ROWS_MAX)
    rows = [(formats.moment(p[0]), formats.number(p[place], digits)) for p in points[::-step]]
    return panel(
        title, shown, behind("The same as a table", table(("when", TableColumn(title, True)), rows))
    )


def _events(events: Sequence[EventView], now_s: float) -> h.Element:
    rows = [
        (
            formats.ago(event.at_s, now_s),
            event.kind.replace("-", " "),
            _subject(event),
            public_detail(event),
        )
        for event in events[:EVENTS_SHOWN]
    ]
    heads = ("when", "what", "subject", "detail")
    return panel("Latest events", table(heads, rows, empty="Nothing has happened yet."))


def _subject(event: EventView) -> h.Node:
    is_host = event.kind.startswith(("host-", "crawler-", "lease-"))
    return h.a(href=f"/hosts/{event.subject}")[event.subject] if is_host else event.subject
