"""Simulation-based calibration: ranks of true parameters among posterior draws.

If the truth is drawn from the prior and data from the likelihood, the rank of the truth among independent draws from
the posterior is uniform (Talts et al. 2018). Ranks of too narrow a posterior pile up at both ends, those of too wide a
one in the middle.

Blind spot: the prior passes too. Draws that ignore the data have uniform ranks.
"""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy import stats


def rank_among(
    truth: Float[np.ndarray, "*batch"], draws: Float[np.ndarray, "*batch draws"]
) -> Int[np.ndarray, "*batch"]:
    """Number of draws below the truth, from 0 to the number of draws."""
    return np.asarray(np.sum(draws < truth[..., None], axis=-1))


class Uniformity(NamedTuple):
    """How far ranks are from uniform.

    Attributes:
        statistic: Largest distance of the ECDF from the uniform distribution function (Kolmogorov-Smirnov).
        p_value: Of that distance.
        spread: Variance of the ranks over that of uniform ones: above 1 for a posterior that is too narrow.
        spread_p_value: Of the spread, by the normal approximation. The distance has little power against a U shape.
    """

    statistic: float
    p_value: float
    spread: float
    spread_p_value: float


def uniformity(ranks: Int[np.ndarray, " replicates"], num_draws: int, *, seed: int = 0) -> Uniformity:
    """Compares ranks among `num_draws` draws with the uniform distribution on 0, ..., num_draws.

    Ranks become continuous by a uniform number added to each, so that the distance has its usual distribution.
    """
    jitter = np.random.default_rng(seed).random(len(ranks))
    u = (ranks + jitter) / (num_draws + 1)
    test = stats.kstest(u, "uniform")
    spread = float(np.mean((u - 0.5) ** 2) * 12)
    z = (spread - 1) / math.sqrt(0.8 / len(ranks))  # 12 (u - 1/2)^2 has variance 4/5
    return Uniformity(float(test.statistic), float(test.pvalue), spread, float(2 * stats.norm.sf(abs(z))))


def simultaneous_band(
    num_ranks: int, points: Float[np.ndarray, " points"], *, coverage: float = 0.95, seed: int = 0
) -> tuple[Float[np.ndarray, " points"], Float[np.ndarray, " points"]]:
    """Simultaneous band of the ECDF of uniform numbers (Säilynoja, Bürkner & Vehtari 2022, by simulation).

    At each point the band has the quantiles gamma/2 and 1 - gamma/2 of the binomial distribution, with one gamma for
    all points, such that an ECDF of uniform numbers stays inside everywhere with probability `coverage`.

    Args:
        num_ranks: Size of the sample.
        points: Where the ECDF is evaluated, between 0 and 1.
        coverage: Of the whole band.
        seed: Of the simulation.

    Returns:
        Lower and upper limits of the ECDF.
    """
    rng = np.random.default_rng(seed)
    uniform = np.sort(rng.random((2000, num_ranks)), axis=1)
    counts = np.stack([np.searchsorted(row, points, side="right") for row in uniform])
    below = stats.binom.cdf(counts, num_ranks, points)
    above = stats.binom.sf(counts - 1, num_ranks, points)
    gamma = np.quantile(2 * np.min(np.minimum(below, above), axis=1), 1 - coverage)
    gamma = max(float(gamma), math.ulp(0.0))
    lower, upper = (stats.binom.ppf(q, num_ranks, points) / num_ranks for q in (gamma / 2, 1 - gamma / 2))
    return np.asarray(lower), np.asarray(upper)
