"""A world, a tree, how many crawlers and draws -> every strategy played on every draw, on all cores.

Invariant: a trial says everything that its outcome hangs on; the same trial gives the same outcome, on one
core or many. Only `cpu_s` of an outcome depends on the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import cached_property
from multiprocessing import get_context
from pathlib import Path

from ipmicra.delegation.registry import settings_named
from ipmicra.delegation.subnets import SubnetLookup
from ipmicra.lab.registry_tree import opened_tree
from ipmicra.lab.simulation.metrics import JudgedDecision, judged
from ipmicra.lab.simulation.noise import Jitter
from ipmicra.lab.simulation.sampling import Draw, draw_from
from ipmicra.lab.simulation.simulator import SimulationOutcome, play
from ipmicra.lab.world import World

Advance = Callable[[], object]


@dataclass(frozen=True)
class Trial:
    """The input on which strategies are tried."""

    world: World
    tree_file: Path | None = None
    crawler_count: int = 12
    draw_count: int = 25
    seed: int = 1
    site_count: int | None = None
    jitter: Jitter | None = None

    def draw(self, number: int) -> Draw:
        return draw_from(self.world, self.seed, number, self.crawler_count, self.site_count)

    @cached_property
    def draws(self) -> list[Draw]:
        return [self.draw(number) for number in range(self.draw_count)]

    @cached_property
    def tree(self) -> SubnetLookup:
        return opened_tree(self.tree_file)


def outcomes(
    trial: Trial, specs: Sequence[str], jobs: int = 1, advance: Advance = lambda: None
) -> dict[str, list[SimulationOutcome]]:
    """The outcome of each strategy on each draw, in the order of the draws."""
    for spec in specs:
        settings_named(spec)
    tasks = [(spec, number) for number in range(trial.draw_count) for spec in dict.fromkeys(specs)]
    done: dict[tuple[str, int], SimulationOutcome] = {}
    for task, outcome in _played(trial, tasks, min(jobs, len(tasks))):
        done[task] = outcome
        advance()
    return {spec: [done[spec, number] for number in range(trial.draw_count)] for spec in specs}


def judgements(
    trial: Trial, played: dict[str, list[SimulationOutcome]]
) -> dict[str, list[JudgedDecision]]:
    """The figures of every strategy on every draw."""
    return {
        spec: [judged(spec, draw, outcome) for draw, outcome in zip(trial.draws, runs, strict=True)]
        for spec, runs in played.items()
    }


Task = tuple[str, int]


def _played(trial: Trial, tasks: list[Task], jobs: int) -> Iterator[tuple[Task, SimulationOutcome]]:
    if jobs <= 1:
        for spec, number in tasks:
            yield (spec, number), play(spec, trial.tree, trial.draws[number], trial.seed, trial.jitter)
        return
    # Started afresh, since a fork would copy the threads of a progress bar half.
    with ProcessPoolExecutor(
        jobs, mp_context=get_context("spawn"), initializer=_take_trial, initargs=(replace(trial),)
    ) as pool:
        futures = [pool.submit(_play_here, task) for task in tasks]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


class _Here:
    """The trial that this worker process plays."""

    trial: Trial


def _take_trial(trial: Trial) -> None:
    _Here.trial = trial


def _play_here(task: Task) -> tuple[Task, SimulationOutcome]:
    spec, number = task
    trial = _Here.trial
    return task, play(spec, trial.tree, trial.draw(number), trial.seed, trial.jitter)
