"""Coordinates on worlds made for one question each: a line, a grid, a circle, clusters, access links.

Each world's round trips are known exactly, so the accuracy that a method must reach is stated beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from ipmicra.coordinates.accuracy import accuracy
from ipmicra.coordinates.gnp import landmark_points, points_against
from ipmicra.coordinates.network_distance import download_ms, network_distance_ms
from ipmicra.coordinates.space import Space
from ipmicra.coordinates.vivaldi import Coordinate, moved
from ipmicra.errors import OperatorFault

Matrix = NDArray[np.float64]


def distances(points: Matrix) -> Matrix:
    return np.asarray(np.linalg.norm(points[:, None] - points[None], axis=2))


def line(count: int) -> Matrix:
    return np.stack([np.arange(count) * 10.0, np.zeros(count)], axis=1)


def grid(count: int) -> Matrix:
    side = math.isqrt(count)
    return np.array([(x * 12.0, y * 12.0) for x in range(side) for y in range(side)])


def circle(count: int) -> Matrix:
    angle = np.linspace(0, 2 * np.pi, count, endpoint=False)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1) * 100


def clusters(count: int) -> Matrix:
    generator = np.random.default_rng(5)
    centres = generator.uniform(-150, 150, (5, 3))
    return np.asarray(centres[np.arange(count) % 5] + generator.normal(0, 4, (count, 3)))


WORLDS: list[tuple[Callable[[int], Matrix], float, float]] = [
    # world, GNP's 90th percentile of relative error, Vivaldi's median
    (line, 0.02, 0.12),
    (grid, 0.02, 0.12),
    (circle, 0.02, 0.12),
    (clusters, 0.05, 0.20),
]


@pytest.mark.parametrize(("world", "error_max", "_"), WORLDS)
def test_gnp_finds_a_world_that_fits_its_space(
    world: Callable[[int], Matrix], error_max: float, _: float
) -> None:
    truth = distances(world(64))
    chosen = np.arange(0, len(truth), len(truth) // 12)
    points = points_against(landmark_points(truth[np.ix_(chosen, chosen)]), truth[:, chosen])
    upper = np.triu_indices(len(truth), 1)
    reached = accuracy(distances(points)[upper], truth[upper])
    assert reached.ninetieth_percentile <= error_max


@pytest.mark.parametrize(("world", "_", "error_max"), WORLDS)
def test_vivaldi_settles_without_landmarks(
    world: Callable[[int], Matrix], _: float, error_max: float
) -> None:
    truth = distances(world(36))
    reached = vivaldi_accuracy(truth, rounds=400)
    assert reached <= error_max


def vivaldi_accuracy(truth: Matrix, rounds: int) -> float:
    dice = Random(11)
    nodes = [Coordinate.origin(3) for _ in truth]
    for _ in range(rounds):
        for me in range(len(nodes)):
            peer = dice.randrange(len(nodes) - 1)
            peer += peer >= me
            nodes[me] = moved(nodes[me], nodes[peer], float(truth[me, peer]), dice)
    predicted = np.array([[a.distance_ms(b) for b in nodes] for a in nodes])
    upper = np.triu_indices(len(truth), 1)
    return accuracy(predicted[upper], truth[upper]).median


def test_height_holds_the_access_link() -> None:
    """A star: every round trip is the sum of two access links; no plane holds it, heights do."""
    links = np.linspace(5, 40, 20)
    truth = links[:, None] + links[None]
    np.fill_diagonal(truth, 0.0)
    assert vivaldi_accuracy(truth, rounds=400) <= 0.1


def test_holes_in_the_round_trips_are_no_measurements() -> None:
    truth = distances(clusters(40))
    chosen = np.arange(12)
    holed = truth[:, chosen].copy()
    holed[np.random.default_rng(1).random(holed.shape) < 0.2] = np.nan
    points = points_against(landmark_points(truth[np.ix_(chosen, chosen)]), holed)
    upper = np.triu_indices(len(truth), 1)
    assert accuracy(distances(points)[upper], truth[upper]).median <= 0.05


@given(arrays(np.float64, (3, 8), elements=st.floats(width=64)))
def test_gnp_gives_finite_points_whatever_was_measured(measured: Matrix) -> None:
    landmarks = landmark_points(distances(clusters(8)))
    assert np.isfinite(points_against(landmarks, measured)).all()


number = st.floats(allow_nan=True, allow_infinity=True)


@given(round_trip_ms=number, position=st.tuples(number, number, number), height_ms=number, error=number)
def test_vivaldi_stays_finite_whatever_a_peer_says(
    round_trip_ms: float, position: tuple[float, float, float], height_ms: float, error: float
) -> None:
    mine = Coordinate((1.0, 2.0, 3.0), 4.0, 0.5)
    after = moved(mine, Coordinate(position, height_ms, error), round_trip_ms, Random(0))
    assert all(map(math.isfinite, (*after.position_ms, after.height_ms, after.error)))
    assert after.height_ms > 0


def test_too_few_landmarks_are_refused() -> None:
    with pytest.raises(OperatorFault, match="at least 4 landmarks"):
        landmark_points(np.ones((3, 3)))


def test_a_space_holds_most_points_and_clamps_the_rest() -> None:
    points = np.concatenate([np.random.default_rng(2).uniform(-10, 10, (95, 3)), np.full((2, 3), 900.0)])
    space = Space.around(points)
    assert max(space.high) < 900
    clamped = space.clamped(points)
    assert all(space.holds(tuple(point)) for point in clamped)
    inside = [space.holds(tuple(point)) for point in points]
    assert np.array_equal(clamped[inside], points[inside])


def test_network_distance_is_median_round_trip_plus_scaled_download() -> None:
    # 100 ms for 20 kB; a visit is 4 pages of 10 kB: 200 ms
    assert download_ms(100.0, [5_000, 15_000], 10_000, 4) == pytest.approx(200.0)
    assert network_distance_ms([30.0, 10.0, 20.0, math.nan], 200.0) == pytest.approx(220.0)
    with pytest.raises(OperatorFault):
        network_distance_ms([math.nan, -1.0])
