"""Strategies over draws: the same trial, the same outcome, on one core or two."""

from __future__ import annotations

from pathlib import Path

import pytest

from ipmicra.delegation.subnets import known_subnet
from ipmicra.errors import OperatorFault
from ipmicra.lab.data_source import load_data_source
from ipmicra.lab.generated import generate
from ipmicra.lab.simulation.metrics import figures_of, summary
from ipmicra.lab.simulation.runner import Trial, judgements, outcomes

SPECS = ["random", "hash", "brute-force"]


@pytest.fixture(scope="module")
def trial() -> Trial:
    return Trial(generate(1, 80).world, crawler_count=5, draw_count=2, seed=4)


def test_two_processes_find_what_one_finds(trial: Trial) -> None:
    alone = outcomes(trial, SPECS, jobs=1)
    ticks: list[None] = []
    shared = outcomes(trial, SPECS, jobs=2, advance=lambda: ticks.append(None))
    assert len(ticks) == 6
    for spec in SPECS:
        for one, two in zip(alone[spec], shared[spec], strict=True):
            assert one.chosen.tolist() == two.chosen.tolist()
            assert one.probes.tolist() == two.probes.tolist()


def test_summaries_span_the_draws(trial: Trial) -> None:
    played = outcomes(trial, SPECS)
    result = summary("hash", judgements(trial, played)["hash"])
    by_hand = [
        figures_of(draw, outcome)["optimal_share"]
        for draw, outcome in zip(trial.draws, played["hash"], strict=True)
    ]
    assert result["optimal_share"] == pytest.approx(sum(by_hand) / 2)
    assert (result["optimal_share_min"], result["optimal_share_max"]) == (min(by_hand), max(by_hand))


def test_an_unknown_strategy_is_refused_before_anything_is_played(trial: Trial) -> None:
    with pytest.raises(OperatorFault, match="unknown strategy 'psychic'"):
        outcomes(trial, ["hash", "psychic"])


def test_a_made_up_world_has_its_own_registries(tmp_path: Path) -> None:
    found = load_data_source(None, None, tmp_path, seed=2)
    assert found.tree_file is not None
    tree = Trial(found.world, found.tree_file).tree
    address = found.world.places[0].address
    assert address is not None
    assert known_subnet(tree, address) is not None
    assert load_data_source(None, None, tmp_path, seed=2).tree_file == found.tree_file
    with pytest.raises(OperatorFault, match="--registry without --data"):
        load_data_source(None, tmp_path, tmp_path, seed=2)
