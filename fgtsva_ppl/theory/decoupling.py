"""The generalized decoupling coefficient (eq:def_gen_DC), of a given sequence and of a class.

For a given gamma the inequality falls apart into rounds: the worst f_t for round t can be chosen alone. So

    dc_lam(F, Z, beta) = sup_gamma [ sum_t worst_t(gamma) - gamma lam sum_t 1/beta_t ] / (1 + 1/(4 gamma)),
    worst_t(gamma) = max_f f(z_t) - f*(z_t) - gamma/beta_t sum_{s<t} beta_s (f(z_s) - f*(z_s))^2.

Evaluated on a grid of gamma it is a lower bound, and nearly the thing itself: the grid is fine and gets refined.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar

from fgtsva_ppl.theory.eluder import elliptical_bound

Floats = NDArray[np.float64]

GAMMAS = np.geomspace(1e-6, 1e3, 73)


def over_gamma(worst: Callable[[float], float], betas: Floats, lam: float) -> float:
    """sup over gamma of what the coefficient must be at least; 0 if nothing is needed."""
    cost = lam * float(np.sum(1 / betas))

    def needed(log_gamma: float) -> float:
        gamma = float(np.exp(log_gamma))
        return (worst(gamma) - gamma * cost) / (1 + 1 / (4 * gamma))

    grid = np.log(GAMMAS)
    at = int(np.argmax([needed(x) for x in grid]))
    between = (grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)])
    found = minimize_scalar(lambda x: -needed(x), bounds=between, method="bounded", options={"xatol": 1e-8})
    return max(0.0, needed(grid[at]), -float(found.fun))


def finite_decoupling(
    values: ArrayLike, truth: int, sequence: ArrayLike, betas: ArrayLike, lam: float = 1.0
) -> float:
    """dc_lam(F, Z, beta) of a finite class given by its values, (members, points), with a given f*."""
    table, weights = np.asarray(values, float), np.asarray(betas, float)
    errors = (table - table[truth])[:, np.asarray(sequence, int)]
    spent = np.cumsum(weights * errors**2, axis=1)
    before = np.concatenate([np.zeros((len(table), 1)), spent[:, :-1]], axis=1) / weights
    return over_gamma(lambda gamma: float(np.sum(np.max(errors - gamma * before, axis=0))), weights, lam)


def linear_decoupling(features: ArrayLike, betas: ArrayLike, lam: float = 1.0, radius: float = 1.0) -> float:
    """dc_lam(F, Z, beta) of <theta, phi> with theta* = 0 and ||theta|| <= radius."""
    rows, weights = np.asarray(features, float), np.asarray(betas, float)
    dim = rows.shape[1]
    gram, spectra = np.zeros((dim, dim)), []
    for phi, beta in zip(rows, weights, strict=True):
        eigenvalues, vectors = np.linalg.eigh(gram / beta)
        spectra.append((np.maximum(eigenvalues, 0), vectors.T @ phi))
        gram += beta * np.outer(phi, phi)
    curvature, slope = (np.stack(part) for part in zip(*spectra, strict=True))
    return over_gamma(lambda gamma: float(np.sum(_peaks(slope, gamma * curvature, radius))), weights, lam)


def _peaks(slope: Floats, curvature: Floats, radius: float) -> Floats:
    """max over ||x|| <= radius of slope.x - sum curvature x^2, for every row: a trust-region problem, by bisection."""
    norm = np.linalg.norm(slope, axis=1)
    low, high = (
        np.zeros(len(slope)),
        norm / radius,
    )  # of the multiplier: at norm/radius the solution is short enough
    for _ in range(60):
        middle = (low + high) / 2
        length = np.linalg.norm(slope / np.maximum(2 * curvature + middle[:, None], 1e-300), axis=1)
        low, high = np.where(length > radius, middle, low), np.where(length > radius, high, middle)
    x = slope / np.maximum(2 * curvature + high[:, None], 1e-300)
    return np.asarray(np.sum(slope * x - curvature * x**2, axis=1))


def linear_decoupling_bound(
    dim: int, rounds: int, epsilon: float, lam: float = 1.0, diameter: float = 1.0
) -> float:
    """prop:linear_GDC: dc_{lam,epsilon,T}(F_d^lin) <= 2 d log(1 + epsilon T/(d lam)).

    The proof takes theta* = 0 "without loss of generality" and uses ||theta_t|| <= 1. What it needs is a bound on
    ||theta_t - theta*||: 2 for the whole unit ball, and then lam ||.||^2 <= 4 lam. `diameter` repairs this (lam/4 in
    place of lam, as in `linear_eluder_bound`); its default of 1 gives the paper's formula.
    """
    return elliptical_bound(dim, rounds, epsilon, lam / diameter**2)


def linear_decoupling_search(
    dim: int, rounds: int, epsilon: float, lam: float = 1.0, tries: int = 200, seed: int = 0
) -> tuple[float, Floats, Floats]:
    """A lower bound on dc_{lam,epsilon,T}(F_d^lin) with theta* = 0, and the sequence that shows it.

    Features go through the axes in turn: a repetition is what the history already knows, and the axes are farthest
    from each other. Weights rise from a first to a last value and a random search moves both, and the time between
    them. The sequences are then separate in each coordinate, which makes an evaluation cheap.
    """
    rng = np.random.default_rng(seed)
    features = np.eye(dim)[np.arange(rounds) % dim]
    repeats = np.arange(rounds) // dim

    def weights(shape: Floats) -> Floats:
        start, end, bend = shape
        rise = (repeats / max(repeats[-1], 1)) ** np.exp(bend)
        return np.asarray(np.minimum(np.exp((1 - rise) * start + rise * end), epsilon))

    def coefficient(betas: Floats) -> float:
        spent = np.zeros(rounds)
        for axis in range(dim):
            own = betas[axis::dim]
            spent[axis::dim] = (np.cumsum(own) - own) / own

        def worst(gamma: float) -> float:
            x = np.minimum(1, 1 / np.maximum(2 * gamma * spent, 1e-300))
            return float(np.sum(x - gamma * spent * x**2))

        return over_gamma(worst, betas, lam)

    top = np.log(epsilon)
    best = np.array([top, top, 0.0])
    value = coefficient(weights(best))
    for attempt in range(tries):
        wide = attempt < tries // 2
        proposal = (
            np.array([rng.uniform(top - 20, top), top, rng.normal()])
            if wide
            else best + 0.3 * rng.normal(size=3)
        )
        found = coefficient(weights(proposal))
        if found > value:
            best, value = proposal, found
    return value, features, weights(best)
