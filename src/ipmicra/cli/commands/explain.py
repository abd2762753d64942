"""`ipmicra explain`: the crawler of a site, and the reasons."""

from __future__ import annotations

import click
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ipmicra.cli import terminal
from ipmicra.cli.display.coordinator_answers import coordinator_option
from ipmicra.coordinator.client import CoordinatorClient
from ipmicra.protocol.coordinator_api import Explanation


@click.command()
@click.argument("url")
@coordinator_option
@terminal.json_option
def command(url: str, coordinator: str, as_json: bool) -> None:
    """Show which crawler has a URL's site and why: subnets, organisation, probes, loads, other strategies.

    \b
    Examples:
      ipmicra explain https://example.org/
      ipmicra explain https://example.org/ --json
    """
    found = CoordinatorClient(coordinator).explain(url)
    terminal.show(found, as_json, lambda: _shown(found))


def _shown(found: Explanation) -> Group:
    parts: list[RenderableType] = [_head(found), _path(found)]
    if found.probes or found.steps:
        parts.append(_decision(found))
    return Group(*parts, _crawlers(found), _others(found))


def _head(found: Explanation) -> Text:
    near = found.nearest
    text = Text(f"{near.site}: ", style="bold")
    text.append(near.crawler or "nobody's").append(f" ({near.state})")
    for remark in (near.why, near.note):
        if remark:
            text.append(f"\n  {remark}")
    if near.address:
        text.append(f"\n  at {near.address}, delegated with {near.subnet}")
    if found.age_s is not None:
        text.append(f"\n  decided {found.age_s:.0f} s ago by {found.decided_by or 'rule'}")
    return text


def _path(found: Explanation) -> RenderableType:
    table = Table("subnet", "organisation", "country", "registry")
    for subnet in found.path:
        table.add_row(subnet.range, subnet.organisation, subnet.country, subnet.registry)
    return Group(table, Text(found.path_note)) if found.path_note else table


def _decision(found: Explanation) -> Table:
    table = Table("looked at", "found")
    for what, result in found.steps:
        table.add_row(what, result)
    for crawler, round_trip_ms, silence in found.probes:
        answer = f"no answer ({silence})" if round_trip_ms is None else f"{round_trip_ms:.1f} ms"
        table.add_row(f"probe from {crawler}", answer)
    return table


def _crawlers(found: Explanation) -> Table:
    table = Table("crawler", "awake", "sites", "bytes today", "round trip", "age")
    remembered = {record.crawler: record for record in found.remembered}
    for candidate in found.candidates:
        record = remembered.get(candidate.crawler)
        known = record is not None and record.round_trip_ms is not None
        table.add_row(
            candidate.crawler,
            "yes" if candidate.awake else "no",
            str(candidate.sites),
            str(candidate.bytes_today),
            f"{record.round_trip_ms:.1f} ms" if known and record is not None else "",
            f"{record.age_s:.0f} s" if record is not None else "",
        )
    return table


def _others(found: Explanation) -> Table:
    table = Table("strategy", "would choose")
    for strategy, choice in found.others.items():
        table.add_row(strategy, choice)
    return table
