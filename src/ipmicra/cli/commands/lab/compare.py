"""`ipmicra lab compare`: strategies side by side, on the same draws of the same data."""

from __future__ import annotations

from pathlib import Path

import click
from rich import box
from rich.table import Table

from ipmicra.cli import terminal
from ipmicra.cli.options.trial_options import chosen_data_source, jitter_of, trial_options
from ipmicra.lab.simulation.metrics import MetricsSummary, summary
from ipmicra.lab.simulation.runner import Trial, judgements, outcomes


@click.command()
@trial_options
@click.option(
    "--crawlers",
    type=click.IntRange(min=1),
    default=12,
    show_default=True,
    help="Number of locations that are crawlers.",
)
@click.option(
    "--strategy",
    "strategies",
    default="adaptive,ipmicra@50,first-fit@50,hash,random,brute-force",
    show_default=True,
    help="Comma-separated names; NAME@VALUE sets the main parameter.",
)
@terminal.json_option
@click.pass_context
def command(
    context: click.Context,
    data: Path | None,
    registry: Path | None,
    draws: int,
    seed: int,
    sites: int | None,
    noise: str | None,
    jobs: int,
    crawlers: int,
    strategies: str,
    as_json: bool,
) -> None:
    """Compare delegation strategies on the same draws of crawlers and sites.

    Every draw takes crawlers spread over the continents and makes every other address a site, in random
    order; a strategy starts knowing nothing. A site is delegated optimally where no crawler has a lesser
    round trip to it. docs/experiments/index.md says what the data folders hold.

    \b
    Examples:
      ipmicra lab compare --strategy ipmicra@25,ipmicra@50,brute-force
      ipmicra lab compare --data anchors-world --registry registries --crawlers 4
      ipmicra lab compare --data cloud --registry registries --sites 4000 --json
      ipmicra lab compare --data anchors-world --noise anchors-hourly
    """
    found = chosen_data_source(context, data, registry, seed)
    specs = [spec.strip() for spec in strategies.split(",") if spec.strip()]
    trial = Trial(found.world, found.tree_file, crawlers, draws, seed, sites, jitter_of(noise))
    with terminal.progress() as bars:
        bar = bars.add_task(f"{found.world.name}, {crawlers} crawlers", total=draws * len(specs))
        played = outcomes(trial, specs, jobs, lambda: bars.advance(bar))
    results = [summary(spec, runs) for spec, runs in judgements(trial, played).items()]
    terminal.show({"results": results}, as_json, lambda: _table(results))


COLUMNS = (
    ("nearest", "optimal_share", ".1%"),
    ("worst draw", "optimal_share_min", ".1%"),
    ("within 5 ms", "within_5ms_share", ".1%"),
    ("excess", "excess_ms_mean", ".2f"),
    ("p95", "excess_ms_p95", ".1f"),
    ("probes", "probes_per_site", ".2f"),
    ("last 50", "probes_per_site_last_50", ".2f"),
    ("not free", "probes_beyond_first_fetch_per_site", ".2f"),
)


def _table(results: list[MetricsSummary]) -> Table:
    table = Table(box=box.SIMPLE, caption="excess in ms, probes per site; means over the draws")
    table.add_column("strategy", no_wrap=True)
    for heading, _, _ in COLUMNS:
        table.add_column(heading, justify="right", min_width=max(len(word) for word in heading.split()))
    for row in results:
        cells = [format(float(row[name]), form) for _, name, form in COLUMNS]
        table.add_row(str(row["strategy"]), *cells)
    return table
