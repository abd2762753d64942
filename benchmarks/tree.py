"""How fast is the tree of subnets found in, built and opened, and how much memory does it take?

Two worlds: the real one (folders `rir-delegated-*` and `libloc-*` of IPMICRA_DATA; left out without it),
and a generated one of IPMICRA_BENCH_RANGES ranges (10 million) in the registries' proportions, nested 8
deep. Rivals hold the same ranges as CIDR blocks, all of them. But maxminddb's files are written by Python
with an object a node, so of the generated ranges it holds a sample of IPMICRA_BENCH_SAMPLE_RANGES (1.2
million), and is compared with our tree of the same sample. py-radix takes 6 GB for 10 million ranges: set
IPMICRA_BENCH_RANGES lower on a small machine. Times are CPU times, the best of 5 rounds in which all take
turns.
"""

from __future__ import annotations

import ipaddress
import multiprocessing
import os
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.tree_parts.rivals import Contestant, maxmind, py_radix, pytricia
from ipmicra.hierarchy import AllocationColumns, Allocations, Subnet, SubnetTree, build_tree
from ipmicra.registry.files import read_file, registry_files
from ipmicra.registry.organisation_join import allocations_of
from ipmicra.registry.parsers.accumulator import Accumulator
from ipmicra.registry.treefile import open_tree, write_tree

RANGES = int(os.environ.get("IPMICRA_BENCH_RANGES", "10_000_000"))
SAMPLE_RANGES = int(os.environ.get("IPMICRA_BENCH_SAMPLE_RANGES", "1_200_000"))
BATCH = 100_000
ROUNDS = 5
SEED = 20
ORGANISATIONS_PER_RANGE = 0.05
# IPv4 records in the registries' delegated-extended statistics of October 2018.
RECORDS = {"ripencc": 72_789, "arin": 62_481, "apnic": 41_684, "lacnic": 15_594, "afrinic": 3_759}
# Which part of the ranges lies on each level below the /8 blocks; together with them 8 levels.
LEVEL_SHARES = (0.01, 0.06, 0.15, 0.28, 0.26, 0.16, 0.081)


# --- the generated world ---


def generated(count: int) -> Allocations:
    """Ranges nested 8 deep; 1 in 20 is not a CIDR block; the /8 blocks go by the registries' shares."""
    random = np.random.default_rng(SEED)
    allocations = Allocations()
    for number in range(int(count * ORGANISATIONS_PER_RANGE)):
        allocations.organisations.number("ripencc", f"ORG-{number}", f"Organisation {number}")
    registries = [allocations.registries.number(name) for name in RECORDS]
    shares = np.array(list(RECORDS.values())) / sum(RECORDS.values())
    for number in range(240):
        allocations.countries.number(f"{number:02x}")
    source, status = allocations.sources.number("generated"), allocations.statuses.number("assigned")
    blocks = np.arange(1, 224)
    counts = random.multinomial(count, np.ones(len(blocks)) / len(blocks))
    for block, block_count in zip(blocks.tolist(), counts.tolist(), strict=True):
        starts, lasts = _block(block << 24, block_count, random)
        facts = AllocationColumns(
            organisation=random.integers(0, len(allocations.organisations), len(starts)),
            country=random.integers(1, 240, len(starts)),
            registry=registries[int(random.choice(len(registries), p=shares))],
            status=status,
            source=source,
        )
        allocations.append_v4(starts, lasts, facts)
    return allocations


def _block(
    start: int, count: int, random: np.random.Generator
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """One /8 and what is nested in it."""
    starts, sizes = [np.array([start])], [np.array([1 << 24])]
    for share in LEVEL_SHARES:
        inner_starts, inner_sizes = _level(starts[-1], sizes[-1], int(share * count) + 1, random)
        starts.append(inner_starts)
        sizes.append(inner_sizes)
    first, size = np.concatenate(starts), np.concatenate(sizes)
    order = random.permutation(len(first))
    return first[order].astype(np.uint32), (first + size - 1)[order].astype(np.uint32)


def _level(
    starts: NDArray[np.int64], sizes: NDArray[np.int64], count: int, random: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """`count` ranges within these, each range in its own slot, more in the larger ones."""
    weights = np.where(sizes >= 4, np.sqrt(sizes) * random.random(len(sizes)) ** 2, 0)
    children = np.minimum(random.multinomial(count, weights / weights.sum()), sizes // 2)
    parents = np.repeat(np.arange(len(starts)), children)
    place = np.arange(len(parents)) - np.repeat(np.cumsum(children) - children, children)
    slots = 1 << np.maximum(np.ceil(np.log2(np.maximum(children, 1))), 1).astype(np.int64)
    slot = (1 << np.floor(np.log2(sizes)).astype(np.int64))[parents] // slots[parents]
    size = np.maximum(slot >> random.choice(3, len(slot), p=(0.7, 0.2, 0.1)), 1)
    size -= (random.random(len(size)) < 0.05) & (size > 2)
    return starts[parents] + place * slot, size


class BuildFigures(NamedTuple):
    ranges: int
    seconds: float
    cpu_seconds: float
    before_bytes: int
    peak_bytes: int


def build_generated(count: int, path: Path) -> BuildFigures:
    """Build in a separate process, so that the peak of memory is the build's."""
    allocations = generated(count)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    begun, begun_cpu = time.perf_counter(), time.process_time()
    built = build_tree(allocations)
    seconds, cpu_seconds = time.perf_counter() - begun, time.process_time() - begun_cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    write_tree(path, built.tree, {})
    return BuildFigures(len(allocations), seconds, cpu_seconds, before, peak)


def sample_of(tree: SubnetTree, ranges_max: int) -> SubnetTree:
    """A tree of some of the IPv4 ranges, without facts."""
    count = tree.root(6) - 1
    random = np.random.default_rng(SEED)
    chosen = random.choice(count, min(count, ranges_max), replace=False) + 1
    allocations = Allocations()
    allocations.append_v4(
        tree.columns.v4_starts[chosen], tree.columns.v4_lasts[chosen], AllocationColumns()
    )
    return build_tree(allocations).tree


# --- the real world ---


def real_tree(folder: Path) -> SubnetTree:
    gathering = Accumulator()
    places = [*folder.glob("rir-delegated-*"), *folder.glob("libloc-*")]
    for file in registry_files(places).files:
        read_file(file, gathering)
    return build_tree(allocations_of(gathering)).tree


# --- measuring ---

Rival = Callable[[SubnetTree], Contestant]


def cpu_ns_each(call: Callable[[], object]) -> float:
    begun = time.process_time_ns()
    call()
    return (time.process_time_ns() - begun) / BATCH


def measured(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The best of some rounds of each, in CPU nanoseconds an address."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(ROUNDS):
        for name, call in calls.items():
            best[name] = min(best[name], cpu_ns_each(call))
    return best


def each(find: Callable[[Any], object], addresses: Sequence[object]) -> Callable[[], object]:
    def call() -> None:
        for address in addresses:
            find(address)

    return call


def lookup_table(title: str, tree: SubnetTree, rivals: Sequence[Rival]) -> Table:
    random = np.random.default_rng(SEED)
    batch = random.integers(1 << 24, 224 << 24, BATCH, dtype=np.uint32)
    numbers = batch.tolist()
    texts = [str(ipaddress.IPv4Address(number)) for number in numbers]
    ours = Contestant("ipmicra", tree.root(6), tree.smallest_of_text, tree.smallest_of_v4)
    contestants = [ours, *(rival(tree) for rival in rivals)]
    calls: dict[str, Callable[[], object]] = {"ipmicra batch": lambda: tree.smallest_batch(batch)}
    for contestant in contestants:
        calls[f"{contestant.name} text"] = each(contestant.of_text, texts)
        if contestant.of_number:
            calls[f"{contestant.name} number"] = each(contestant.of_number, numbers)
    best = measured(calls)
    table = Table(title=title)
    for heading in ("", "ranges", "one text, ns", "one number, ns", "batch of 100,000, M/s"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, ranges, _, _ in contestants:
        text, number = best[f"{name} text"], best.get(f"{name} number")
        in_batch = best["ipmicra batch"] if name == "ipmicra" else min(text, number or text)
        shown = "-" if number is None else f"{number:,.0f}"
        table.add_row(name, f"{ranges:,}", f"{text:,.0f}", shown, f"{1000 / in_batch:.2f}")
    fastest = min(value for name, value in best.items() if not name.startswith("ipmicra"))
    table.caption = f"batches: {fastest / best['ipmicra batch']:.1f} times the fastest rival (asked: 10)"
    return table


def opening_ms(path: Path, *, checks_every_byte: bool) -> float:
    times = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        open_tree(path, checks_every_byte=checks_every_byte)
        times.append((time.perf_counter() - begun) * 1000)
    return min(times)


def upkeep_table(path: Path, tree: SubnetTree, build: BuildFigures | None) -> Table:
    table = Table("figure", "measured", "asked")
    if build:
        seconds = f"{build.seconds:.1f} s (CPU {build.cpu_seconds:.1f})"
        table.add_row(f"build of {build.ranges:,} ranges", seconds, "15 s")
        peak = f"{build.peak_bytes / 2**30:.2f} GiB, {build.before_bytes / 2**30:.2f} of it before"
        table.add_row("peak of memory, allocations included", peak, "1.5 GiB")
    both = tree.columns.tree_bytes + tree.columns.index_bytes
    table.add_row("bytes a range, both families", f"{tree.columns.tree_bytes / len(tree):.1f}", "32")
    table.add_row("the same with the index by organisation", f"{both / len(tree):.1f}", "-")
    table.add_row("opening, a map", f"{opening_ms(path, checks_every_byte=False):.1f} ms", "50 ms")
    table.add_row(
        "opening, every byte checked", f"{opening_ms(path, checks_every_byte=True):.1f} ms", "-"
    )
    depths = [tree.depth(Subnet(int(s))) for s in np.linspace(0, tree.root(6) - 1, 20_000)]
    table.add_row("deepest of 20,000 subnets", str(max(depths)), "-")
    return table


def main() -> None:
    console = Console(width=100)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tree"
        data = os.environ.get("IPMICRA_DATA")
        if data:
            write_tree(path, real_tree(Path(data)), {})
            tree = open_tree(path).tree
            title = "Real tree: delegated + libloc, IPv4"
            console.print(lookup_table(title, tree, (pytricia, py_radix, maxmind)))
            console.print(upkeep_table(path, tree, None))
        else:
            console.print("IPMICRA_DATA is not set: the real tree is left out")
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            build = pool.apply(build_generated, (RANGES, path))
        tree = open_tree(path).tree
        console.print(lookup_table("Generated tree", tree, (pytricia, py_radix)))
        console.print(upkeep_table(path, tree, build))
        sample = sample_of(tree, SAMPLE_RANGES)
        console.print(lookup_table("A sample of the generated tree", sample, (maxmind,)))
