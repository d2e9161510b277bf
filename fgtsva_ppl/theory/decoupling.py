"""Generalized decoupling coefficient (definition of Section 5), of a given sequence and of a class.

dc_lam(F, Z, beta) is the smallest number that satisfies, for all f_1..f_T in F and all gamma > 0,

    sum_t f_t(z_t) - f*(z_t) <= sum_t gamma/beta_t sum_{s<t} beta_s (f_t(z_s) - f*(z_s))^2
                                + gamma lam sum_t 1/beta_t + (1 + 1/(4 gamma)) dc.

For a given gamma the rounds are independent of each other: the worst f_t of a round can be chosen on its own. So

    dc_lam(F, Z, beta) = sup_gamma [ sum_t worst_t(gamma) - gamma lam sum_t 1/beta_t ] / (1 + 1/(4 gamma)),
    worst_t(gamma) = max_f f(z_t) - f*(z_t) - gamma/beta_t sum_{s<t} beta_s (f(z_s) - f*(z_s))^2.

The supremum is taken on a fine grid of gamma and refined, which gives a tight lower bound.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import minimize_scalar

from fgtsva_ppl.theory.eluder import elliptical_bound

GAMMAS = np.geomspace(1e-6, 1e3, 73)
TRUST_REGION_ITERATIONS = 60  # of a bisection


def supremum_over_gamma(
    worst: Callable[[float], float], betas: Float[np.ndarray, " rounds"], lam: float
) -> float:
    """Supremum over gamma of the lower bounds that each gamma implies for dc; at least 0.

    Args:
        worst: sum_t worst_t(gamma).
        betas: The weights.
        lam: Regularization.

    Returns:
        dc_lam(F, Z, beta).
    """
    regularization = lam * float(np.sum(1 / betas))

    def implied(log_gamma: float) -> float:
        gamma = float(np.exp(log_gamma))
        return (worst(gamma) - gamma * regularization) / (1 + 1 / (4 * gamma))

    grid = np.log(GAMMAS)
    best = int(np.argmax([implied(x) for x in grid]))
    bounds = (grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)])
    refined = minimize_scalar(lambda x: -implied(x), bounds=bounds, method="bounded", options={"xatol": 1e-8})
    return max(0.0, implied(grid[best]), -float(refined.fun))


def finite_decoupling(
    values: Float[np.ndarray, "members points"],
    truth: int,
    sequence: Int[np.ndarray, " rounds"],
    betas: Float[np.ndarray, " rounds"],
    lam: float = 1.0,
) -> float:
    """dc_lam(F, Z, beta) of a finite class with a given f* (definition of Section 5).

    Args:
        values: f(z) of every function and point.
        truth: Index of f*.
        sequence: Indices of the points z_1..z_T.
        betas: The weights.
        lam: Regularization.

    Returns:
        The coefficient of this sequence.
    """
    values, betas = np.asarray(values, float), np.asarray(betas, float)
    errors = (values - values[truth])[:, np.asarray(sequence, int)]
    cumulative = np.cumsum(betas * errors**2, axis=1)
    past = np.concatenate([np.zeros((len(values), 1)), cumulative[:, :-1]], axis=1) / betas
    return supremum_over_gamma(lambda gamma: float(np.sum(np.max(errors - gamma * past, axis=0))), betas, lam)


def linear_decoupling(
    features: Float[np.ndarray, "rounds dim"],
    betas: Float[np.ndarray, " rounds"],
    lam: float = 1.0,
    radius: float = 1.0,
) -> float:
    """dc_lam(F, Z, beta) of linear functions <theta, phi> with theta* = 0 (definition of Section 5).

    Args:
        features: The sequence phi_1..phi_T.
        betas: The weights.
        lam: Regularization.
        radius: The largest ||theta||.

    Returns:
        The coefficient of this sequence.
    """
    features, betas = np.asarray(features, float), np.asarray(betas, float)
    dim = features.shape[1]
    gram, spectra = np.zeros((dim, dim)), []
    for phi, beta in zip(features, betas, strict=True):
        eigenvalues, vectors = np.linalg.eigh(gram / beta)
        spectra.append((np.maximum(eigenvalues, 0), vectors.T @ phi))
        gram += beta * np.outer(phi, phi)
    curvature, slope = (np.stack(rows) for rows in zip(*spectra, strict=True))
    return supremum_over_gamma(
        lambda gamma: float(np.sum(_trust_region_maxima(slope, gamma * curvature, radius))), betas, lam
    )


def _trust_region_maxima(slope: np.ndarray, curvature: np.ndarray, radius: float) -> np.ndarray:
    """max over ||x|| <= radius of slope.x - sum_i curvature_i x_i^2, for every row, by bisection on the multiplier."""
    low = np.zeros(len(slope))
    high = np.linalg.norm(slope, axis=1) / radius  # where the solution is certainly short enough
    for _ in range(TRUST_REGION_ITERATIONS):
        middle = (low + high) / 2
        length = np.linalg.norm(slope / np.maximum(2 * curvature + middle[:, None], 1e-300), axis=1)
        low, high = np.where(length > radius, middle, low), np.where(length > radius, high, middle)
    x = slope / np.maximum(2 * curvature + high[:, None], 1e-300)
    return np.asarray(np.sum(slope * x - curvature * x**2, axis=1))


def linear_decoupling_bound(
    dim: int, rounds: int, epsilon: float, lam: float = 1.0, diameter: float = 1.0
) -> float:
    """Bound 2 d log(1 + epsilon T/(d lam)) on dc_{lam,epsilon,T} of linear functions (first proposition of Section 5).

    The proof assumes theta* = 0 "without loss of generality" and uses ||theta_t|| <= 1. What it needs is a bound on
    ||theta_t - theta*||, which is 2 for the whole unit ball; then lam ||.||^2 <= 4 lam.

    Args:
        dim: Dimension d of the features, which have norms up to 1.
        rounds: Horizon T.
        epsilon: The largest weight.
        lam: Regularization.
        diameter: Largest ||theta - theta*||. The default of 1 gives the paper's formula; 2 is right for any theta* in
            the unit ball, with lam/4 in place of lam as in `linear_eluder_bound`.

    Returns:
        The bound.
    """
    return elliptical_bound(dim, rounds, epsilon, lam / diameter**2)


def linear_decoupling_search(
    dim: int, rounds: int, epsilon: float, lam: float = 1.0, num_tries: int = 200, seed: int = 0
) -> tuple[float, Float[np.ndarray, "rounds dim"], Float[np.ndarray, " rounds"]]:
    """Lower bound on dc_{lam,epsilon,T} of linear functions with theta* = 0, by a random search for a hard sequence.

    Features cycle through the axes: a repeated feature adds little, and the axes are the most different ones. Weights
    rise from a first to a last value; the search varies both and the shape of the rise. The coordinates of such a
    sequence separate, which makes an evaluation cheap.

    Args:
        dim: Dimension d of the features.
        rounds: Length T of the sequence.
        epsilon: The largest weight.
        lam: Regularization.
        num_tries: Number of weight sequences to try.
        seed: Seed of the search.

    Returns:
        The largest coefficient, with its features and its weights.
    """
    rng = np.random.default_rng(seed)
    features = np.eye(dim)[np.arange(rounds) % dim]
    repeats = np.arange(rounds) // dim

    def weights(parameters: np.ndarray) -> np.ndarray:
        log_first, log_last, log_exponent = parameters
        rise = (repeats / max(repeats[-1], 1)) ** np.exp(log_exponent)
        return np.asarray(np.minimum(np.exp((1 - rise) * log_first + rise * log_last), epsilon))

    def coefficient(betas: np.ndarray) -> float:
        past = np.zeros(rounds)
        for axis in range(dim):
            own = betas[axis::dim]
            past[axis::dim] = (np.cumsum(own) - own) / own

        def worst(gamma: float) -> float:
            x = np.minimum(1, 1 / np.maximum(2 * gamma * past, 1e-300))
            return float(np.sum(x - gamma * past * x**2))

        return supremum_over_gamma(worst, betas, lam)

    log_epsilon = np.log(epsilon)
    best = np.array([log_epsilon, log_epsilon, 0.0])
    largest = coefficient(weights(best))
    for attempt in range(num_tries):
        global_search = attempt < num_tries // 2
        proposal = (
            np.array([rng.uniform(log_epsilon - 20, log_epsilon), log_epsilon, rng.normal()])
            if global_search
            else best + 0.3 * rng.normal(size=3)
        )
        value = coefficient(weights(proposal))
        if value > largest:
            best, largest = proposal, value
    return largest, features, weights(best)
