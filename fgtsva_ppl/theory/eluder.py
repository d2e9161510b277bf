"""Elliptical potential (Appendix A.1) and generalized Eluder dimension (Section 3.1) of linear and finite classes.

The generalized Eluder dimension (Agarwal et al. 2023) of a class F, a sequence z_1..z_T and weights beta_1..beta_T is

    dim_lam(F, Z, beta) = sum_t min{1, beta_t D_t^2},
    D_t^2 = sup_{f1, f2 in F} (f1(z_t) - f2(z_t))^2 / (lam + sum_{s<t} beta_s (f1(z_s) - f2(z_s))^2),

and dim_{lam,epsilon,T}(F) is its supremum over sequences and weights beta <= epsilon. A finite class is a matrix of
values, one row per function and one column per context-action pair; a sequence is then a sequence of columns.
"""

import numpy as np
from jaxtyping import Float, Int


def weighted_uncertainties(
    features: Float[np.ndarray, "rounds dim"], betas: Float[np.ndarray, " rounds"], lam: float = 1.0
) -> Float[np.ndarray, " rounds"]:
    """beta_t ||phi_t||^2 in the norm of Sigma_{t-1}^-1, with Sigma_t = lam I + sum_{s<=t} beta_s phi_s phi_s'."""
    features, betas = np.asarray(features, float), np.asarray(betas, float)
    sigma = lam * np.eye(features.shape[1])
    uncertainties = np.empty(len(features))
    for t, (phi, beta) in enumerate(zip(features, betas, strict=True)):
        uncertainties[t] = beta * phi @ np.linalg.solve(sigma, phi)
        sigma += beta * np.outer(phi, phi)
    return uncertainties


def elliptical_potential(
    features: Float[np.ndarray, "rounds dim"], betas: Float[np.ndarray, " rounds"], lam: float = 1.0
) -> float:
    """sum_t min{beta_t ||phi_t||^2, 1}: left side of the elliptical potential lemma (Appendix A.1)."""
    return float(np.sum(np.minimum(weighted_uncertainties(features, betas, lam), 1)))


def elliptical_determinant(
    features: Float[np.ndarray, "rounds dim"], betas: Float[np.ndarray, " rounds"], lam: float = 1.0
) -> float:
    """2 (log det Sigma_T - log det Sigma_0): middle of the elliptical potential lemma (Appendix A.1)."""
    features, betas = np.asarray(features, float), np.asarray(betas, float)
    scaled = np.eye(features.shape[1]) + features.T @ (betas[:, None] * features) / lam
    return float(2 * np.linalg.slogdet(scaled)[1])


def elliptical_bound(dim: int, rounds: int, epsilon: float, lam: float = 1.0) -> float:
    """2 d log(1 + epsilon T/(d lam)): right side of the elliptical potential lemma (Appendix A.1).

    Args:
        dim: Dimension d of the features, which have norms up to 1.
        rounds: Length T of the sequence.
        epsilon: The largest weight.
        lam: Regularization of Sigma.

    Returns:
        The bound on `elliptical_potential`.
    """
    return float(2 * dim * np.log1p(epsilon * rounds / (dim * lam)))


def linear_eluder(
    features: Float[np.ndarray, "rounds dim"],
    betas: Float[np.ndarray, " rounds"],
    lam: float = 1.0,
    diameter: float = 2.0,
) -> float:
    """Generalized Eluder dimension dim_lam(F, Z, beta) of linear functions, exactly.

    D^2 is a supremum over differences of two parameters, which fill a ball of radius `diameter`. The ratio increases
    with their length, so the longest ones attain it, and D^2 = ||phi||^2 in the norm of (lam/diameter^2 I + ...)^-1.
    For the unit ball this is the elliptical potential at lam/4, not at lam.

    Args:
        features: The sequence phi_1..phi_T.
        betas: The weights.
        lam: Regularization.
        diameter: Diameter of the ball of parameters.

    Returns:
        The dimension of this sequence.
    """
    return elliptical_potential(features, betas, lam / diameter**2)


def linear_eluder_bound(
    dim: int, rounds: int, epsilon: float, lam: float = 1.0, diameter: float = 2.0
) -> float:
    """Upper bound on dim_{lam,epsilon,T} of linear functions with ||phi|| <= 1, by the elliptical potential lemma."""
    return elliptical_bound(dim, rounds, epsilon, lam / diameter**2)


def squared_gaps(
    values: Float[np.ndarray, "members points"], truth: int | None = None
) -> Float[np.ndarray, "pairs points"]:
    """(f1 - f2)^2 at every point, for all pairs of functions or for those with a given truth."""
    values = np.asarray(values, float)
    first, second = np.triu_indices(len(values), 1)
    if truth is not None:
        first, second = np.arange(len(values)), np.full(len(values), truth)
    return np.asarray((values[first] - values[second]) ** 2)


def finite_eluder(
    values: Float[np.ndarray, "members points"],
    sequence: Int[np.ndarray, " rounds"],
    betas: Float[np.ndarray, " rounds"],
    lam: float = 1.0,
    truth: int | None = None,
) -> float:
    """Generalized Eluder dimension dim_lam(F, Z, beta) of a finite class (definition of Section 3.1), exactly.

    Args:
        values: f(z) of every function and point.
        sequence: Indices of the points z_1..z_T.
        betas: The weights.
        lam: Regularization.
        truth: Index of f*; if given, only pairs with f* count, as in the decoupling coefficient.

    Returns:
        The dimension of this sequence.
    """
    gaps, betas = squared_gaps(values, truth), np.asarray(betas, float)
    denominator = np.full(len(gaps), float(lam))
    total = 0.0
    for z, beta in zip(np.asarray(sequence, int), betas, strict=True):
        total += min(1.0, beta * float(np.max(gaps[:, z] / denominator)))
        denominator += beta * gaps[:, z]
    return total


def finite_eluder_search(
    values: Float[np.ndarray, "members points"],
    rounds: int,
    epsilon: float,
    lam: float = 1.0,
    num_schedules: int = 24,
) -> tuple[float, Int[np.ndarray, " rounds"], Float[np.ndarray, " rounds"]]:
    """Lower bound on dim_{lam,epsilon,T} of a finite class, by a greedy search for a long sequence.

    Weights increase geometrically up to epsilon, at several rates (a weight of epsilon from the start would use up a
    pair's uncertainty in one round). At each rate the next point is the one that adds most.

    Args:
        values: f(z) of every function and point.
        rounds: Length T of the sequence.
        epsilon: The largest weight.
        lam: Regularization.
        num_schedules: Number of rates to try.

    Returns:
        The largest dimension, with its sequence of points and its weights.
    """
    gaps = squared_gaps(values)
    best = (0.0, np.zeros(rounds, np.int64), np.full(rounds, float(epsilon)))
    for rate in np.linspace(0, 1, num_schedules):
        # The first weight lies between epsilon and lam, where a first observation counts as much as the regularization.
        betas = np.geomspace(epsilon ** (1 - rate) * min(lam, epsilon) ** rate, epsilon, rounds)
        denominator, points, total = np.full(len(gaps), float(lam)), np.zeros(rounds, np.int64), 0.0
        for t, beta in enumerate(betas):
            gains = np.minimum(1, beta * np.max(gaps / denominator[:, None], axis=0))
            points[t] = int(np.argmax(gains))
            total += float(gains[points[t]])
            denominator += beta * gaps[:, points[t]]
        if total > best[0]:
            best = (total, points, betas)
    return best


def finite_eluder_bound(
    members: int, points: int, rounds: int, epsilon: float, lam: float = 1.0, fixed_truth: bool = True
) -> float:
    """Upper bound on dim_{lam,epsilon,T} of a finite class with values in [0, 1]; not in the paper.

    The smaller of two bounds. By points: gaps are at most 1, so a point's own history gives D^2 <= 1/(lam + sum of its
    betas), and the sum is an elliptical potential in `points` dimensions. By pairs: one pair contributes at most
    2 log(1 + epsilon T/lam), and a maximum over pairs is at most their sum.

    Args:
        members: Number of functions |F|.
        points: Number of context-action pairs.
        rounds: Length T of the sequence.
        epsilon: The largest weight.
        lam: Regularization.
        fixed_truth: Count the |F| - 1 pairs with f* only, which suffices for the decoupling coefficient (second
            proposition of Section 5); else all pairs.

    Returns:
        The bound.
    """
    pairs = members - 1 if fixed_truth else members * (members - 1) // 2
    by_points = elliptical_bound(points, rounds, epsilon, lam)
    return min(by_points, pairs * elliptical_bound(1, rounds, epsilon, lam))
