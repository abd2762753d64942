"""How many sites per second are delegated when nothing needs probing, and how many when all is new?

On the real tree (folders `rir-delegated-*` and `libloc-*` of IPMICRA_DATA: 1.08 million IPv4 ranges), or
without data on a generated one of as many ranges. Addresses are drawn evenly over the unicast space. A
new site's probes are answered at once, so this is the cost of deciding, not of waiting. Beside hashing
stands uhashring, a consistent-hashing ring, with the same crawlers. CPU times, one core, best of 3 rounds.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from ipaddress import IPv4Address
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.tree import generated, real_tree
from ipmicra.delegation.crawlers import CrawlerProfile
from ipmicra.delegation.driver import drive
from ipmicra.delegation.registry import STRATEGIES, strategy_named
from ipmicra.delegation.strategy import Strategy
from ipmicra.hierarchy import SubnetTree, build_tree
from ipmicra.model.ids import CrawlerId
from ipmicra.model.probes import ProbeAnswer, Target

CRAWLERS = 12
SITES = int(os.environ.get("IPMICRA_BENCH_SITES", "20_000"))
RANGES = 1_080_000
ROUNDS = 3
SEED = 7


def targets() -> list[Target]:
    dice = random.Random(SEED)
    return [
        Target.of(f"site-{number}.example", IPv4Address(dice.randrange(1 << 24, 224 << 24)))
        for number in range(SITES)
    ]


def ready(spec: str, tree: SubnetTree) -> Strategy:
    strategy = strategy_named(spec, tree, random.Random(SEED))
    for number in range(CRAWLERS):
        strategy.on_crawler_joined(CrawlerProfile(CrawlerId(f"crawler-{number}")))
    for one in strategy.crawlers.all:
        for other in strategy.crawlers.all:
            strategy.on_crawlers_measured(one, other, 100.0)
    return strategy


def delegate(strategy: Strategy, answer: ProbeAnswer, target: Target) -> None:
    drive(strategy.delegate(target, 0.0), lambda _: answer)


def a_second(work: Callable[[Target], object], sites: list[Target], rounds: int = ROUNDS) -> float:
    """How often the work is done in a CPU second, at best."""
    best_s = float("inf")
    for _ in range(rounds):
        begun_s = time.process_time()
        for site in sites:
            work(site)
        best_s = min(best_s, time.process_time() - begun_s)
    return len(sites) / best_s


def ring(sites: list[Target]) -> float | None:
    try:
        nodes = import_module("uhashring").HashRing([f"crawler-{number}" for number in range(CRAWLERS)])
    except ImportError:
        return None
    return a_second(lambda site: nodes.get_node(site.site), sites)


def main() -> None:
    data = os.environ.get("IPMICRA_DATA")
    tree = real_tree(Path(data)) if data else build_tree(generated(RANGES)).tree
    sites, answer = targets(), ProbeAnswer(60.0)
    table = Table(title=f"{len(tree):,} subnets, {CRAWLERS} crawlers, {SITES:,} sites; sites per second")
    for heading in ("strategy", "new, every probe 60 ms", "delegated before: delegate()", "owner_of()"):
        table.add_column(heading, justify="left" if heading == "strategy" else "right")
    for name in STRATEGIES:
        strategy = ready(name, tree)
        decide = partial(delegate, strategy, answer)
        few = sites[: SITES // 10]
        new, old = a_second(decide, few, rounds=1), a_second(decide, few)
        table.add_row(name, f"{new:,.0f}", f"{old:,.0f}", f"{a_second(strategy.owner_of, few):,.0f}")
    if (found := ring(sites)) is not None:
        table.add_row("uhashring", "", "", f"{found:,.0f}")
    Console().print(table)


if __name__ == "__main__":
    main()
