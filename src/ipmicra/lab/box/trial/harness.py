"""The input of every claim: a data source for worlds, a seed, a folder, and a function for messages.

Invariant: a claim plays in worlds of the harness's seed; each box that it used was on time, or it raises.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from ipmicra.lab.box.box import NetworkBox
from ipmicra.lab.box.processes.control_channel import RouterReport
from ipmicra.lab.box.session import staged
from ipmicra.lab.box.trial.timing_check import TimingTolerance
from ipmicra.lab.box.world.box_world import BoxWorld
from ipmicra.lab.box.world.generator import WorldRequest, made_world
from ipmicra.lab.data_source import DataSource
from ipmicra.lab.findings import Findings, Plot, Tabulated, prose
from ipmicra.lab.pages import PageQuestion

# A crawl is thousands of round trips of 100 ms: a packet in a hundred that is 4 ms late changes nothing.
CRAWLING = TimingTolerance(late_ms=4.0, share_max=0.01)


@dataclass
class BoxHarness:
    """The options of one run of one claim."""

    data_source: DataSource
    seed: int
    folder: Path
    quick: bool = False  # the smallest world that still shows the claim, for tests
    say: Callable[[str], object] = lambda words: None
    reports: list[RouterReport] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def world(self, wanted: WorldRequest, quick: WorldRequest, number: int = 0) -> BoxWorld:
        return made_world(self.data_source.world, self.seed, quick if self.quick else wanted, number)

    def new_folder(self) -> Path:
        folder = self.folder / f"run-{next(self._numbers):03}"
        folder.mkdir(parents=True)
        return folder

    @contextmanager
    def staged(
        self, world: BoxWorld, patience: TimingTolerance = CRAWLING
    ) -> Iterator[tuple[NetworkBox, Path]]:
        """A box with its sites served; at its end the router must have been on time."""
        folder = self.new_folder()
        with staged(world, folder) as box:
            yield box, folder
            self.reports.append(box.check_on_time(patience=patience))

    def findings(
        self, claim: str, tables: list[Tabulated], plots: list[Plot], verdict: list[str]
    ) -> Findings:
        figures = self._lateness()
        return Findings(
            experiment=claim,
            world=self.data_source.world.name,
            draws=1,
            seed=self.seed,
            tables=tables,
            plots=plots,
            verdict=[*verdict, _in_words(figures)],
            figures=figures,
        )

    def _lateness(self) -> dict[str, float]:
        """How late the router was over all boxes of the claim."""
        packets = sum(report.late.total for report in self.reports)
        late = sum(report.late.share_from(1.0) * report.late.total for report in self.reports)
        return {
            "router_packets": float(packets),
            "router_late_1ms_share": late / packets if packets else 0.0,
            "router_late_greatest_ms": max((r.late.greatest_ms for r in self.reports), default=0.0),
        }


def _in_words(figures: dict[str, float]) -> str:
    return prose(f"""The box's router carried {figures["router_packets"]:,.0f} packets for this page;
    {figures["router_late_1ms_share"]:.2%} of them left a millisecond late or more, the latest by
    {figures["router_late_greatest_ms"]:.1f} ms.""")


class BoxClaim(PageQuestion, Protocol):
    """A module of `claims`: TITLE, PAPER (what the papers report) and `run`."""

    def run(self, harness: BoxHarness) -> Findings: ...
