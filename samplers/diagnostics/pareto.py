"""Pareto k-hat: whether importance weights have a heavy tail.

Blind spot: what the proposal never visits. A proposal that covers one of two separated modes gets a small k-hat, since
no draw falls where the weights would be large.
"""

import math
from collections.abc import Callable

import numpy as np
from jaxtyping import Float


def pareto_khat(log_ratios: Float[np.ndarray, " draws"]) -> float:
    """Shape of the generalised Pareto distribution fitted to the largest importance ratios (Vehtari et al. 2024).

    Below 0.7 importance sampling is reliable; above 1 the ratios have no mean. The tail has min(n / 5, 3 sqrt(n)) of
    the ratios; its shape is the estimate of Zhang & Stephens (2009) with a weak prior of 10 observations at 1/2.

    Args:
        log_ratios: log p - log q at draws from q, up to a constant.

    Returns:
        k-hat; minus infinity if all of the tail is equal, infinity if a ratio is infinite, NaN if one is NaN or there
        are fewer than 25.
    """
    number = len(log_ratios)
    if number < 25 or np.any(np.isnan(log_ratios)):
        return math.nan
    if np.any(np.isposinf(log_ratios)):
        return math.inf
    shifted = np.sort(log_ratios - np.max(log_ratios))
    length = int(min(0.2 * number, 3 * math.sqrt(number)))
    cutoff = max(shifted[-length - 1], np.log(np.finfo(float).tiny))
    tail = np.exp(shifted[shifted > cutoff]) - np.exp(cutoff)
    if len(tail) < 5:
        return -math.inf
    return _generalised_pareto_shape(tail)


def _generalised_pareto_shape(tail: Float[np.ndarray, " draws"]) -> float:
    """The empirical Bayes estimate of Zhang & Stephens (2009) from sorted excesses."""
    number = len(tail)
    num_grid = 30 + int(math.sqrt(number))
    grid = 1 - np.sqrt(num_grid / (np.arange(1, num_grid + 1) - 0.5))
    grid = grid / (3 * tail[int(number / 4 + 0.5) - 1]) + 1 / tail[-1]
    shapes = np.mean(np.log1p(-grid[:, None] * tail), axis=1)
    log_likelihood = number * (np.log(-grid / shapes) - shapes - 1)
    weights = 1 / np.sum(np.exp(log_likelihood - log_likelihood[:, None]), axis=1)
    keep = weights >= 10 * np.finfo(float).eps
    weights, grid = weights[keep] / np.sum(weights[keep]), grid[keep]
    shape = float(np.mean(np.log1p(-float(np.sum(grid * weights)) * tail)))
    return (shape * number + 5) / (number + 10)


def importance_khat(
    logdensity: Callable[[np.ndarray], np.ndarray],
    draws: Float[np.ndarray, "draws size"],
    *,
    num_proposals: int = 1000,
    seed: int = 0,
) -> float:
    """k-hat of importance sampling from the normal distribution that has the mean and covariance of some draws.

    Args:
        logdensity: The target's log-density at rows of positions.
        draws: Draws of a sampler.
        num_proposals: Number of draws from the normal distribution.
        seed: Of these draws.

    Returns:
        k-hat: large if the draws' moments do not cover the target; NaN if the draws span no volume.
    """
    size = draws.shape[-1]
    noise = np.random.default_rng(seed).normal(size=(num_proposals, size))
    try:
        factor = np.linalg.cholesky(np.atleast_2d(np.cov(draws.T)))
    except np.linalg.LinAlgError:
        return math.nan
    proposals = draws.mean(axis=0) + noise @ factor.T
    return pareto_khat(np.asarray(logdensity(proposals)) + np.sum(noise**2, axis=1) / 2)
