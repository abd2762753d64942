"""`ipmicra nearest`: which crawler is nearest to a site."""

from __future__ import annotations

import click
from rich.text import Text

from ipmicra.cli import terminal
from ipmicra.cli.display.coordinator_answers import coordinator_option
from ipmicra.coordinator.client import CoordinatorClient
from ipmicra.protocol.coordinator_api import Nearest


@click.command()
@click.argument("url")
@click.option("--wait", default=10.0, show_default=True, help="Seconds to wait for the answer.")
@coordinator_option
@terminal.json_option
def command(url: str, wait: float, coordinator: str, as_json: bool) -> None:
    """Ask a coordinator which of its crawlers is nearest to a URL's site. Nothing is crawled.

    \b
    Examples:
      ipmicra nearest https://example.org/
      ipmicra nearest example.org --coordinator https://coordinator.example.net --json
    """
    found = CoordinatorClient(coordinator).nearest(url, wait)
    terminal.show(found, as_json, lambda: _shown(found))


def _shown(found: Nearest) -> Text:
    if found.crawler is None:
        return Text(f"{found.site}: not known ({found.state}) {found.note}".rstrip())
    how_near = "" if found.round_trip_ms is None else f", {found.round_trip_ms:.1f} ms"
    return Text(f"{found.crawler}{how_near}: {found.why or found.state} ({found.subnet})")
