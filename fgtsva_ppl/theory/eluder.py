"""The elliptical potential and the generalized Eluder dimension, of linear and of finite classes.

A finite class is a matrix of values, (members, points); a sequence z_1..z_T is then a sequence of columns.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def uncertainties(features: ArrayLike, betas: ArrayLike, lam: float = 1.0) -> Floats:
    """beta_t ||phi_t||^2 in the norm of Sigma_{t-1}^-1, with Sigma_t = lam I + sum_{s<=t} beta_s phi_s phi_s'."""
    rows, weights = np.asarray(features, float), np.asarray(betas, float)
    sigma = lam * np.eye(rows.shape[1])
    made = np.empty(len(rows))
    for t, (phi, beta) in enumerate(zip(rows, weights, strict=True)):
        made[t] = beta * phi @ np.linalg.solve(sigma, phi)
        sigma += beta * np.outer(phi, phi)
    return made


def elliptical_potential(features: ArrayLike, betas: ArrayLike, lam: float = 1.0) -> float:
    """sum_t min{beta_t ||phi_t||^2, 1}: the left side of lemma:elliptical_potential."""
    return float(np.sum(np.minimum(uncertainties(features, betas, lam), 1)))


def elliptical_determinant(features: ArrayLike, betas: ArrayLike, lam: float = 1.0) -> float:
    """2 (log det Sigma_T - log det Sigma_0): the middle of lemma:elliptical_potential."""
    rows, weights = np.asarray(features, float), np.asarray(betas, float)
    grown = np.eye(rows.shape[1]) + rows.T @ (weights[:, None] * rows) / lam
    return float(2 * np.linalg.slogdet(grown)[1])


def elliptical_bound(dim: int, rounds: int, epsilon: float, lam: float = 1.0) -> float:
    """2 d log(1 + epsilon T/(d lam)), for ||phi|| <= 1 and beta <= epsilon: the right side of the lemma."""
    return float(2 * dim * np.log1p(epsilon * rounds / (dim * lam)))


def linear_eluder(features: ArrayLike, betas: ArrayLike, lam: float = 1.0, diameter: float = 2.0) -> float:
    """dim_lam(F, Z, beta) of <theta, phi> with theta in a ball of the given diameter, exactly.

    D^2 is a supremum over differences of two parameters, which fill a ball of radius `diameter`. The quotient grows
    with their length, so the longest ones count, and D^2 = ||phi||^2 in the norm of (lam/diameter^2 I + ...)^-1. For
    the unit ball this is the elliptical potential at lam/4, and not at lam.
    """
    return elliptical_potential(features, betas, lam / diameter**2)


def linear_eluder_bound(
    dim: int, rounds: int, epsilon: float, lam: float = 1.0, diameter: float = 2.0
) -> float:
    """The supremum of `linear_eluder` over ||phi|| <= 1 and beta <= epsilon is at most this."""
    return elliptical_bound(dim, rounds, epsilon, lam / diameter**2)


def squared_gaps(values: ArrayLike, truth: int | None = None) -> Floats:
    """(f_1 - f_2)^2 at every point for every pair of members, or for the pairs that a given truth is part of."""
    table = np.asarray(values, float)
    first, second = np.triu_indices(len(table), 1)
    if truth is not None:
        first, second = np.arange(len(table)), np.full(len(table), truth)
    return np.asarray((table[first] - table[second]) ** 2)


def finite_eluder(
    values: ArrayLike, sequence: ArrayLike, betas: ArrayLike, lam: float = 1.0, truth: int | None = None
) -> float:
    """dim_lam(F, Z, beta) of a finite class, exactly: D^2 as a maximum over all pairs (or those with the truth)."""
    gaps, weights = squared_gaps(values, truth), np.asarray(betas, float)
    points = np.asarray(sequence, int)
    seen = np.full(len(gaps), float(lam))
    total = 0.0
    for z, beta in zip(points, weights, strict=True):
        total += min(1.0, beta * float(np.max(gaps[:, z] / seen)))
        seen += beta * gaps[:, z]
    return total


def finite_eluder_search(
    values: ArrayLike, rounds: int, epsilon: float, lam: float = 1.0, schedules: int = 24
) -> tuple[float, NDArray[np.int64], Floats]:
    """A lower bound on dim_{lam,epsilon,T}(F), and the sequence that shows it.

    Weights grow geometrically up to epsilon, at `schedules` different rates (a weight of epsilon at once would spend
    a pair's whole uncertainty in one round); for each rate the next point is the greedy one.
    """
    gaps = squared_gaps(values)
    best = (0.0, np.zeros(rounds, np.int64), np.full(rounds, float(epsilon)))
    for rate in np.linspace(0, 1, schedules):
        # from about lam, where a first look costs as much as the ridge, up to epsilon
        betas = np.geomspace(epsilon ** (1 - rate) * min(lam, epsilon) ** rate, epsilon, rounds)
        seen, points, total = np.full(len(gaps), float(lam)), np.zeros(rounds, np.int64), 0.0
        for t, beta in enumerate(betas):
            gains = np.minimum(1, beta * np.max(gaps / seen[:, None], axis=0))
            points[t] = int(np.argmax(gains))
            total += float(gains[points[t]])
            seen += beta * gaps[:, points[t]]
        if total > best[0]:
            best = (total, points, betas)
    return best


def finite_bound(
    members: int, points: int, rounds: int, epsilon: float, lam: float = 1.0, fixed_truth: bool = True
) -> float:
    """An upper bound on dim_{lam,epsilon,T}(F) for values in [0, 1]; not in the paper.

    Point by point: gaps are at most 1, so a point's own history alone gives D^2 <= 1/(lam + sum of its betas), and the
    sum is an elliptical potential with `points` dimensions. Pair by pair: one pair contributes 2 log(1 + epsilon T/lam)
    at most, and a maximum over pairs is at most their sum. The decoupling coefficient compares with one fixed truth
    only, so its pairs are |F| - 1; the Eluder dimension has all of them.
    """
    pairs = members - 1 if fixed_truth else members * (members - 1) // 2
    return min(
        elliptical_bound(points, rounds, epsilon, lam), pairs * elliptical_bound(1, rounds, epsilon, lam)
    )
