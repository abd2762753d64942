"""`ipmicra probe`: round trips from this machine to sites, by every method that it allows."""

from __future__ import annotations

import click
import msgspec
import uvloop
from rich.table import Table

from ipmicra import __version__
from ipmicra.cli import terminal
from ipmicra.crawler.fetching.web_fetcher import WebFetcher
from ipmicra.model.fetches import FetchFailed
from ipmicra.net.address_guard import AddressGuard
from ipmicra.net.target import target_of
from ipmicra.probing.prober import Prober
from ipmicra.probing.result import ProbeOutcome
from ipmicra.probing.settings import ProbeMethod
from ipmicra.settings import Settings

WAYS: tuple[ProbeMethod, ...] = ("connect", "head", "icmp")


class ProbedSite(msgspec.Struct, frozen=True):
    """One row of the table."""

    url: str
    address: str
    way: str
    round_trip_ms: float | None
    silence: str


@click.command()
@click.argument("urls", nargs=-1, required=True, metavar="URL...")
@click.option(
    "--way",
    "ways",
    multiple=True,
    type=click.Choice(WAYS),
    help="Use only this method; may be repeated (default: all).",
)
@click.option(
    "--tries",
    type=click.IntRange(1, 20),
    default=3,
    show_default=True,
    help="Number of probes; the shortest round trip counts.",
)
@click.option(
    "--allow-range", "ranges", multiple=True, metavar="CIDR", help="Open a range that is not public."
)
@terminal.json_option
@click.pass_context
def command(
    context: click.Context,
    urls: tuple[str, ...],
    ways: tuple[ProbeMethod, ...],
    tries: int,
    ranges: tuple[str, ...],
    as_json: bool,
) -> None:
    """Measure the round trip from this machine to sites.

    \b
    connect   the kernel's time of a TCP handshake
    head      the same of a connection that asks for the page's head
    icmp      an echo, where the machine allows it

    \b
    Examples:
      ipmicra probe https://example.org
      ipmicra probe --way connect --tries 10 https://example.org https://example.com
      ipmicra probe http://127.0.0.1:8000/ --allow-range 127.0.0.0/8
    """
    settings = terminal.settings_of(context)
    opened = (*settings.fetching.open_ranges, *ranges)
    settings = msgspec.structs.replace(
        settings,
        fetching=msgspec.structs.replace(settings.fetching, open_ranges=opened),
        probing=msgspec.structs.replace(settings.probing, tries=tries),
    )
    probed = uvloop.run(_probe_all(settings, urls, ways or WAYS))
    terminal.show(probed, as_json, lambda: _table(probed))


async def _probe_all(
    settings: Settings, urls: tuple[str, ...], ways: tuple[ProbeMethod, ...]
) -> list[ProbedSite]:
    async with WebFetcher(settings.fetching, f"ipmicra/{__version__}") as fetcher:
        guard = AddressGuard(
            settings.fetching.open_ranges, settings.fetching.closed_ranges, settings.fetching.open_ports
        )
        prober = Prober(settings.probing, guard, fetcher=fetcher)
        return [line for url in urls for line in await _probe(prober, fetcher, url, ways)]


async def _probe(
    prober: Prober, fetcher: WebFetcher, url: str, ways: tuple[ProbeMethod, ...]
) -> list[ProbedSite]:
    url = url if "://" in url else f"https://{url}"
    target, address = target_of(url), await fetcher.locate(url)
    if isinstance(target, FetchFailed) or isinstance(address, FetchFailed):
        failed = target if isinstance(target, FetchFailed) else address
        return [ProbedSite(url, "", "", None, failed.detail if isinstance(failed, FetchFailed) else "")]
    site = f"{'https' if target.secure else 'http'}://{target.host_header}"
    outcomes = [await prober.probe_with(way, address, target.port, site) for way in ways]
    return [_row(url, str(address), outcome) for outcome in outcomes]


def _row(url: str, address: str, outcome: ProbeOutcome) -> ProbedSite:
    why = "" if outcome.silence is None else f"{outcome.silence}: {outcome.detail}"
    return ProbedSite(url, address, outcome.method, outcome.round_trip_ms, why)


def _table(probed: list[ProbedSite]) -> Table:
    table = Table("URL", "address", "way", "round trip", "reason, if none")
    for line in probed:
        shown = "" if line.round_trip_ms is None else f"{line.round_trip_ms:.3f} ms"
        table.add_row(line.url, line.address, line.way, shown, line.silence)
    return table
