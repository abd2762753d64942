"""Hourly round trips -> the jitter of a probe."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ipmicra.errors import OperatorFault
from ipmicra.lab.simulation.noise import jitter_of, load_jitter, made_up_jitter


def hourly(folder: Path, rows: list[tuple[str, str, float]]) -> Path:
    lines = [f"{hour},{a},{b},{ms}" for hour, (a, b, ms) in enumerate(rows)]
    (folder / "eu_rtt_hourly.csv").write_text("\n".join(["hour_utc,source_id,target_id,rtt_ms", *lines]))
    return folder


def test_jitter_is_what_a_pair_shows_above_its_own_least(tmp_path: Path) -> None:
    near = [("1", "2", 10.0 + late) for late in (0, 0, 1, 1, 2, 2)]
    far = [("2", "1", 200.0 + late) for late in (0, 0, 1, 1, 2, 2)]
    jitter = load_jitter(hourly(tmp_path, near + far))
    assert (jitter.steps_ms.min(), jitter.steps_ms.max()) == (0, 2)
    assert jitter.steps_ms.mean() == pytest.approx(1.0, abs=0.01)


def test_a_pair_seen_in_too_few_hours_tells_nothing(tmp_path: Path) -> None:
    with pytest.raises(OperatorFault, match="no pair was measured in 6 hours"):
        load_jitter(hourly(tmp_path, [("1", "2", 10.0)] * 5))


def test_a_folder_without_hours_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OperatorFault, match=r"holds no file \*rtt_hourly\.csv"):
        load_jitter(tmp_path)


def test_drawn_jitter_strays_like_its_samples_and_repeats_under_its_seed() -> None:
    samples = np.random.default_rng(3).exponential(4.0, 20_000)
    drawn = [jitter_of(samples).drawn_ms(np.random.default_rng(1), (30_000,)) for _ in range(2)]
    assert (drawn[0] == drawn[1]).all()
    assert np.percentile(drawn[0], [50, 95]) == pytest.approx(np.percentile(samples, [50, 95]), rel=0.05)


def test_made_up_jitter_is_small_with_a_long_tail() -> None:
    steps_ms = made_up_jitter().steps_ms
    assert steps_ms.min() >= 0
    assert np.median(steps_ms) < 0.5
    assert steps_ms.max() > 50
