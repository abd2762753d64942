"""The input of every experiment: a world, a seed, and a function that plays strategies on its draws.

Invariant: an experiment names strategies and crawlers, and does not know where the data come from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol

from ipmicra.lab.findings import Findings
from ipmicra.lab.pages import PageQuestion
from ipmicra.lab.simulation.metrics import JudgedDecision, MetricsSummary, summary
from ipmicra.lab.simulation.noise import Jitter, made_up_jitter
from ipmicra.lab.simulation.runner import Trial, judgements, outcomes
from ipmicra.lab.simulation.sampling import Draw
from ipmicra.lab.simulation.simulator import SimulationOutcome
from ipmicra.lab.world import World

TrialObserver = Callable[[str, int], Callable[[], object]]


def _unwatched(label: str, total: int) -> Callable[[], object]:
    return lambda: None


@dataclass(frozen=True)
class PlayedStrategy:
    """Strategies played on the same draws."""

    trial: Trial
    outcomes: dict[str, list[SimulationOutcome]]

    @property
    def draws(self) -> list[Draw]:
        return self.trial.draws

    @cached_property
    def judged(self) -> dict[str, list[JudgedDecision]]:
        return judgements(self.trial, self.outcomes)

    @cached_property
    def summaries(self) -> dict[str, MetricsSummary]:
        """By strategy; without the processor time, which would not repeat under a seed."""
        found = {spec: summary(spec, runs) for spec, runs in self.judged.items()}
        for figures in found.values():
            del figures["cpu_us_per_site"]
        return found

    def figure(self, spec: str, name: str) -> float:
        """A figure of a strategy, over all draws."""
        return float(self.summaries[spec][name])

    def figures(self, specs: Sequence[str], name: str) -> list[float]:
        return [self.figure(spec, name) for spec in specs]

    def rows(self, specs: Sequence[str] | None = None) -> list[MetricsSummary]:
        return [self.summaries[spec] for spec in specs or self.outcomes]


@dataclass(frozen=True)
class ExperimentHarness:
    """The world and the options of one run of one experiment."""

    world: World
    tree_file: Path | None = None
    draw_count: int = 25
    seed: int = 1
    site_count: int | None = None
    jitter: Jitter | None = None
    jobs: int = 1
    watch: TrialObserver = field(default=_unwatched)

    def trial(self, crawler_count: int, jitter: Jitter | None = None) -> Trial:
        return Trial(
            self.world,
            self.tree_file,
            crawler_count,
            self.draw_count,
            self.seed,
            self.site_count,
            jitter,
        )

    def play(self, specs: Sequence[str], crawler_count: int, *, noisy: bool = False) -> PlayedStrategy:
        """All strategies on all draws; `noisy` with the jitter given, or a generated one."""
        trial = self.trial(crawler_count, (self.jitter or made_up_jitter()) if noisy else None)
        advance = self.watch(f"{crawler_count} crawlers", self.draw_count * len(specs))
        return PlayedStrategy(trial, outcomes(trial, specs, self.jobs, advance))

    def findings(self, experiment: str, **found: object) -> Findings:
        return Findings(
            experiment=experiment,
            world=self.world.name,
            draws=self.draw_count,
            seed=self.seed,
            **found,  # type: ignore[arg-type]  # the fields that an experiment fills
        )


class Experiment(PageQuestion, Protocol):
    """A module of `experiments`: TITLE, PAPER (what the paper reports) and `run`."""

    def run(self, harness: ExperimentHarness) -> Findings: ...
