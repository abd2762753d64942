"""A scripted world: two crawlers, three sites, strategies that do what the script says."""

from __future__ import annotations

import random
from collections.abc import Generator

import numpy as np
import pytest

from ipmicra.addresses import address_of
from ipmicra.delegation.crawlers import CrawlerProfile
from ipmicra.delegation.decision import Decision, Why
from ipmicra.delegation.strategy import Strategy
from ipmicra.delegation.subnets import NoSubnets
from ipmicra.errors import OurFault
from ipmicra.lab.simulation.metrics import figures_of, judged, summary
from ipmicra.lab.simulation.noise import made_up_jitter
from ipmicra.lab.simulation.sampling import Draw, DrawnSite
from ipmicra.lab.simulation.simulator import crawler_id, introduce_crawlers, play, simulate
from ipmicra.lab.world import LatencyNode
from ipmicra.model.ids import CrawlerId
from ipmicra.model.probes import Measurement, Probe, ProbeAnswer, Source, Target

WEST, EAST = crawler_id(0), crawler_id(1)
ROUND_TRIPS_MS = np.array([[10.0, 50.0, 30.0], [40.0, 20.0, 30.0]])


def scripted_draw() -> Draw:
    return Draw(
        number=0,
        crawlers=(
            LatencyNode("west", address_of(4, 1), latitude=1.0, longitude=2.0),
            LatencyNode("east"),
        ),
        crawler_places=(0, 1),
        mutual_ms=np.array([[0.0, 45.0], [45.0, 0.0]]),
        sites=tuple(DrawnSite(f"{name}.example", address_of(4, ord(name))) for name in "abc"),
        site_places=(2, 3, 4),
        round_trips_ms=ROUND_TRIPS_MS,
    )


class Scripted(Strategy):
    """Probes whom the script says for a site, and takes the crawler the script says."""

    def __init__(self, script: dict[str, tuple[list[CrawlerId], CrawlerId | None]]) -> None:
        super().__init__(NoSubnets(), random.Random(1))
        self.script = script
        self.heard: list[tuple[str, float | None]] = []
        self.learnt: list[Measurement] = []
        self.joined: list[CrawlerProfile] = []

    def delegate(
        self, target: Target, now_s: float, *, afresh: bool = False
    ) -> Generator[Probe, ProbeAnswer, Decision]:
        asked, chosen = self.script[target.site]
        for crawler in asked:
            answer = yield Probe(crawler, target)
            self.heard.append((crawler, answer.round_trip_ms))
        return Decision(chosen, Why.BELIEVED)

    def learn(self, measurement: Measurement) -> None:
        self.learnt.append(measurement)

    def on_crawler_joined(self, profile: CrawlerProfile) -> None:
        super().on_crawler_joined(profile)
        self.joined.append(profile)


def script() -> Scripted:
    return Scripted(
        {
            "a.example": ([WEST, EAST], WEST),  # optimal, one probe beyond the first fetch
            "b.example": ([WEST], WEST),  # 30 ms too far
            "c.example": ([], EAST),  # as near as the other: optimal
        }
    )


def test_probes_are_answered_from_the_matrix_and_counted() -> None:
    strategy = script()
    outcome = simulate(strategy, scripted_draw(), ROUND_TRIPS_MS)
    assert strategy.heard == [(WEST, 10.0), (EAST, 40.0), (WEST, 50.0)]
    assert outcome.chosen.tolist() == [0, 0, 1]
    assert outcome.probes.tolist() == [2, 1, 0]
    assert outcome.free_probes.tolist() == [1, 1, 0]


def test_the_first_fetch_is_told_as_a_passive_measurement_of_the_chosen_crawler() -> None:
    strategy = script()
    simulate(strategy, scripted_draw(), ROUND_TRIPS_MS)
    assert [(m.crawler, m.round_trip_ms, m.source) for m in strategy.learnt] == [
        (WEST, 10.0, Source.PASSIVE),
        (WEST, 50.0, Source.PASSIVE),
        (EAST, 30.0, Source.PASSIVE),
    ]
    moments = [measurement.at_s for measurement in strategy.learnt]
    assert moments == sorted(moments)
    assert moments[0] == pytest.approx(0.050)


def test_crawlers_are_known_in_full_before_the_first_site() -> None:
    strategy = script()
    introduce_crawlers(strategy, scripted_draw())
    west, east = strategy.joined
    assert west.position is not None
    assert (west.position.latitude, west.address) == (1.0, address_of(4, 1))
    assert (east.position, east.address) == (None, None)
    assert strategy.crawlers.mutual_ms(EAST, WEST) == 45.0


def test_figures_say_how_good_the_decisions_were() -> None:
    figures = figures_of(scripted_draw(), simulate(script(), scripted_draw(), ROUND_TRIPS_MS))
    assert figures["optimal_share"] == pytest.approx(2 / 3)
    assert figures["within_5ms_share"] == pytest.approx(2 / 3)
    assert figures["excess_ms_mean"] == pytest.approx(10.0)
    assert figures["probes_per_site"] == pytest.approx(1.0)
    assert figures["probes_beyond_first_fetch_per_site"] == pytest.approx(1 / 3)


def test_giving_a_site_to_nobody_is_a_defect() -> None:
    strategy = Scripted({"a.example": ([], None)})
    with pytest.raises(OurFault, match=r"delegated a\.example to no crawler"):
        simulate(strategy, scripted_draw(), ROUND_TRIPS_MS)


def test_brute_force_is_optimal_and_without_jitter_exactly_so() -> None:
    draw = scripted_draw()
    runs = [judged("brute-force", draw, play("brute-force", NoSubnets(), draw, seed)) for seed in (1, 2)]
    result = summary("brute-force", runs)
    assert result["optimal_share_min"] == 1.0
    assert result["probes_per_site"] == 2.0
    assert result["draws"] == 2


def test_jitter_is_the_same_for_every_strategy_and_repeats_under_its_seed() -> None:
    draw, jitter = scripted_draw(), made_up_jitter()
    best, worst = (
        play(spec, NoSubnets(), draw, 7, jitter).probed_ms for spec in ("brute-force", "worst")
    )
    again = play("brute-force", NoSubnets(), draw, 7, jitter).probed_ms
    assert (best == again).all()
    assert (best[:, 0] == worst[:, 0]).all()
    assert (best[:, 0] > ROUND_TRIPS_MS[:, 0]).all()
