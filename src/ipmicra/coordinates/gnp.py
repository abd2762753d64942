"""Round trips to landmarks -> points (Global Network Positioning, Ng and Zhang 2002).

Landmarks are placed against each other first; everything else is placed against the landmarks. Both
minimise the sum of squared relative errors, ((distance - round trip) / round trip)^2, so that a near
neighbour's millisecond weighs as much as a far one's tens. Distances are Euclidean, in milliseconds.

Invariant: a hole (NaN, infinite, zero or negative) is not a measurement and has no weight; every returned
point is finite, for any input.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from ipmicra.errors import OperatorFault

Points = NDArray[np.float64]  # one row a point, in milliseconds
RoundTripMatrix = NDArray[np.float64]

DIMENSIONS = 3  # the CAN-on-NC paper's choice; more buy 5 to 10 % of accuracy and cost neighbours
ROUND_TRIP_FLOOR_MS = 0.05  # below this a relative error is the clock's, not the network's
DAMPING_START = 1e-2
PLACEMENT_STEPS = 40


def landmark_points(round_trips_ms: RoundTripMatrix, dimensions: int = DIMENSIONS) -> Points:
    """Points of the landmarks from their mutual round trips (a square matrix, holes allowed)."""
    count = len(round_trips_ms)
    if round_trips_ms.shape != (count, count) or count < dimensions + 1:
        raise OperatorFault(
            f"{dimensions} dimensions need the mutual round trips of at least {dimensions + 1} landmarks; "
            f"got a matrix of shape {round_trips_ms.shape}"
        )
    symmetric = _symmetric(round_trips_ms)
    upper = np.triu_indices(count, 1)
    wanted = symmetric[upper]
    weight = _weights(wanted)
    start = _classical_scaling(symmetric, dimensions)

    def relative_errors(flat: NDArray[np.float64]) -> NDArray[np.float64]:
        points = flat.reshape(count, dimensions)
        distances = np.linalg.norm(points[upper[0]] - points[upper[1]], axis=1)
        return np.asarray((distances - np.where(weight > 0, wanted, 0.0)) * weight)

    def slopes(flat: NDArray[np.float64]) -> NDArray[np.float64]:
        points = flat.reshape(count, dimensions)
        offset = points[upper[0]] - points[upper[1]]
        distance = np.maximum(np.linalg.norm(offset, axis=1), 1e-9)
        towards = offset * (weight / distance)[:, None]
        jacobian = np.zeros((len(wanted), count, dimensions))
        pairs = np.arange(len(wanted))
        jacobian[pairs, upper[0]] = towards
        jacobian[pairs, upper[1]] = -towards
        return jacobian.reshape(len(wanted), count * dimensions)

    fitted = least_squares(relative_errors, start.ravel(), jac=slopes, method="trf", max_nfev=200)
    points = fitted.x.reshape(count, dimensions)
    return np.asarray(points - points.mean(axis=0))


def points_against(landmarks: Points, round_trips_ms: RoundTripMatrix) -> Points:
    """Points of many nodes at once, one row of round trips to all landmarks each (holes allowed).

    Each is the best of a damped Gauss-Newton descent from two starts: the weighted mean of the
    landmarks, and the nearest landmark. A node that no landmark measured stands in the middle.
    """
    wanted = np.atleast_2d(np.asarray(round_trips_ms, dtype=np.float64))
    weight = _weights(wanted)
    known = np.where(weight > 0, wanted, 0.0)
    total = weight.sum(axis=1, keepdims=True)
    mean = np.where(
        total > 0, weight @ landmarks / np.where(total > 0, total, 1.0), landmarks.mean(axis=0)
    )
    nearest = landmarks[np.argmax(weight, axis=1)] + (mean - landmarks[np.argmax(weight, axis=1)]) * 1e-3
    candidates = [_descended(landmarks, known, weight, start) for start in (mean, nearest)]
    costs = np.stack([cost for _, cost in candidates])
    best = np.argmin(costs, axis=0)
    points = np.stack([points for points, _ in candidates])
    return np.asarray(points[best, np.arange(len(wanted))])


def _descended(
    landmarks: Points, wanted: RoundTripMatrix, weight: NDArray[np.float64], start: Points
) -> tuple[Points, NDArray[np.float64]]:
    """Levenberg-Marquardt over all rows together; returns points and their sums of squared errors."""
    points = start.copy()
    damping = np.full(len(points), DAMPING_START)
    cost = _cost(landmarks, wanted, weight, points)
    identity = np.eye(landmarks.shape[1])
    for _ in range(PLACEMENT_STEPS):
        offset = points[:, None, :] - landmarks[None, :, :]
        distance = np.maximum(np.linalg.norm(offset, axis=2), 1e-9)
        error = (distance - wanted) * weight
        slope = offset / distance[:, :, None] * weight[:, :, None]
        gradient = np.einsum("nld,nl->nd", slope, error)
        curvature = np.einsum("nld,nle->nde", slope, slope)
        scale = np.maximum(np.trace(curvature, axis1=1, axis2=2), 1e-12)
        damped = curvature + (damping * scale)[:, None, None] * identity
        step = np.linalg.solve(damped, gradient[:, :, None])[:, :, 0]
        trial = points - step
        trial_cost = _cost(landmarks, wanted, weight, trial)
        better = trial_cost < cost
        points = np.where(better[:, None], trial, points)
        cost = np.where(better, trial_cost, cost)
        damping = np.clip(np.where(better, damping / 3, damping * 4), 1e-9, 1e6)
    return points, cost


def _cost(
    landmarks: Points, wanted: RoundTripMatrix, weight: NDArray[np.float64], points: Points
) -> NDArray[np.float64]:
    distance = np.linalg.norm(points[:, None, :] - landmarks[None, :, :], axis=2)
    return np.asarray((((distance - wanted) * weight) ** 2).sum(axis=1))


def _weights(round_trips_ms: RoundTripMatrix) -> NDArray[np.float64]:
    """One over the round trip; 0 where there was no measurement."""
    usable = np.isfinite(round_trips_ms) & (round_trips_ms > 0)
    return np.where(
        usable, 1.0 / np.maximum(np.where(usable, round_trips_ms, 1.0), ROUND_TRIP_FLOOR_MS), 0.0
    )


def _symmetric(round_trips_ms: RoundTripMatrix) -> RoundTripMatrix:
    """The mean of both directions where both were measured, else the one that was."""
    there = np.where(_weights(round_trips_ms) > 0, round_trips_ms, np.nan)
    back = there.T
    both = (there + back) / 2
    return np.asarray(np.where(np.isfinite(both), both, np.where(np.isfinite(there), there, back)))


def _classical_scaling(round_trips_ms: RoundTripMatrix, dimensions: int) -> Points:
    """Torgerson's scaling as a start; holes count as the mean round trip."""
    filled = round_trips_ms.copy()
    np.fill_diagonal(filled, 0.0)
    known = filled[np.isfinite(filled)]
    filled[~np.isfinite(filled)] = known[known > 0].mean() if (known > 0).any() else 1.0
    squared = filled**2
    centred = squared - squared.mean(axis=0) - squared.mean(axis=1)[:, None] + squared.mean()
    values, vectors = np.linalg.eigh(-centred / 2)
    largest = np.argsort(values)[::-1][:dimensions]
    return np.asarray(vectors[:, largest] * np.sqrt(np.maximum(values[largest], 1e-9)))
