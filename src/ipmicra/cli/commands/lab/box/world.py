"""`ipmicra lab box world`: a world for the box, from latency data or from a seed, as a file."""

from __future__ import annotations

from pathlib import Path

import click
from rich.table import Table

from ipmicra.cli import terminal
from ipmicra.cli.options.trial_options import chosen_data_source
from ipmicra.lab.box.session import WORLD
from ipmicra.lab.box.world.box_world import BoxWorld
from ipmicra.lab.box.world.generator import WorldRequest, made_world
from ipmicra.lab.box.world.world_file import LATENCIES, write_world

_COUNT = click.IntRange(1)


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--data", type=click.Path(path_type=Path), help="Latency data; by default a generated world."
)
@click.option(
    "--seed",
    type=int,
    default=1,
    show_default=True,
    help="Random seed; the same seed gives the same world.",
)
@click.option("--crawlers", type=_COUNT, default=4, show_default=True, help="Number of crawlers.")
@click.option("--sites", type=_COUNT, default=40, show_default=True, help="Number of sites.")
@click.option("--pages", type=_COUNT, default=5, show_default=True, help="Pages of each site.")
@click.option(
    "--page-bytes",
    type=_COUNT,
    default=3_000,
    show_default=True,
    help="Approximate size of each page in bytes.",
)
@click.option(
    "--jitter-ms",
    type=click.FloatRange(0),
    default=0.0,
    help="Maximum random delay added to each packet, in ms.",
)
@click.option("--loss", type=click.FloatRange(0, 0.99), default=0.0, help="Share of packets lost.")
@click.option("--ipv6", is_flag=True, help="Give every node an IPv6 address too.")
@terminal.json_option
@click.pass_context
def command(
    context: click.Context,
    folder: Path,
    data: Path | None,
    seed: int,
    crawlers: int,
    sites: int,
    pages: int,
    page_bytes: int,
    jitter_ms: float,
    loss: float,
    ipv6: bool,
    as_json: bool,
) -> None:
    """Write a world for the box into FOLDER: world.toml, and its latencies beside it.

    Crawlers and sites are drawn as the experiments draw them. Change the file as you like: links, NAT, a CDN,
    anycast, black holes, faults; docs/reference/world-file.md has every field.

    \b
    Examples:
      ipmicra lab box world /tmp/world --seed 1
      ipmicra lab box world /tmp/world --data anchors-world --crawlers 12 --sites 150
      ipmicra lab box world /tmp/lossy --loss 0.02 --jitter-ms 5 --ipv6
    """
    wanted = WorldRequest(
        crawlers=crawlers,
        sites=sites,
        pages=pages,
        page_bytes=page_bytes,
        jitter_ms=jitter_ms,
        loss=loss,
        ipv6=ipv6,
    )
    world = made_world(chosen_data_source(context, data, None, seed).world, seed, wanted)
    write_world(folder / WORLD, world)
    terminal.print_note(f"wrote {folder / WORLD} and {LATENCIES} beside it")
    rows = _rows(world)
    terminal.show({"world": str(folder / WORLD), "crawlers": rows}, as_json, lambda: _table(rows))


def _rows(world: BoxWorld) -> list[dict[str, str | float]]:
    """Each crawler, and how far the sites are from it."""
    places = {place.name: place for place in world.file.places}
    rows: list[dict[str, str | float]] = []
    for crawler in world.file.crawlers:
        to_sites = sorted(world.crawler_to_site_ms(crawler, site) for site in world.file.sites)
        place = places[crawler.place]
        rows.append(
            {
                "crawler": crawler.name,
                "address": crawler.addresses[0],
                "where": " ".join(word for word in (place.continent, place.country) if word),
                "nearest_ms": to_sites[0],
                "median_ms": to_sites[len(to_sites) // 2],
                "farthest_ms": to_sites[-1],
            }
        )
    return rows


def _table(rows: list[dict[str, str | float]]) -> Table:
    table = Table("crawler", "address", "where", "nearest site ms", "median", "farthest")
    for row in rows:
        table.add_row(*(f"{cell:.1f}" if isinstance(cell, float) else cell for cell in row.values()))
    return table
