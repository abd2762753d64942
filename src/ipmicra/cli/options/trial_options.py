"""The options that every command of the lab shares, and the data source they describe."""

from __future__ import annotations

import os
from pathlib import Path

import click

from ipmicra.cli import terminal
from ipmicra.lab.data_source import DataSource, load_data_source
from ipmicra.lab.simulation.noise import Jitter, load_jitter, made_up_jitter

MADE_UP = "made-up"

_FOLDER = click.Path(path_type=Path)
_COUNT = click.IntRange(min=1)


def trial_options(command: terminal.Command) -> terminal.Command:
    """Adds --data, --registry, --draws, --seed, --sites, --noise and --jobs."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


_OPTIONS = (
    click.option(
        "--data",
        type=_FOLDER,
        help="Latency data: a folder with nodes.csv and rtt.csv.gz, of a cloud's prefixes and regions, "
        "of a transit-stub graph, or a matrix. Without it: a made-up world.",
    ),
    click.option(
        "--registry",
        type=_FOLDER,
        help="Registry data: delegated-* and networks.tsv files, in the folder or below it.",
    ),
    click.option("--draws", type=_COUNT, default=25, show_default=True, help="Number of random draws."),
    click.option(
        "--seed",
        type=int,
        default=1,
        show_default=True,
        help="Random seed; the same seed gives the same draws.",
    ),
    click.option(
        "--sites",
        type=_COUNT,
        help="Maximum number of sites (default: all; 1,000 of a cloud's addresses).",
    ),
    click.option(
        "--noise",
        metavar="FOLDER",
        help=f"Probes stray like the hourly round trips in this folder; '{MADE_UP}' needs no folder.",
    ),
    click.option(
        "--jobs",
        type=_COUNT,
        default=lambda: os.cpu_count() or 1,
        help="Number of processes (default: all cores).",
    ),
)


def chosen_data_source(
    context: click.Context, data: Path | None, registry: Path | None, seed: int
) -> DataSource:
    """The world and tree that the options describe, with the remarks on them said."""
    cache = terminal.settings_of(context).data_folder / "lab" / "trees"
    found = load_data_source(data, registry, cache, seed, terminal.print_note)
    for remark in found.remarks:
        terminal.print_note(remark)
    return found


def jitter_of(noise: str | None) -> Jitter | None:
    if noise is None:
        return None
    return made_up_jitter() if noise == MADE_UP else load_jitter(Path(noise))
