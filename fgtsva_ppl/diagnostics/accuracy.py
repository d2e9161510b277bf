"""Accuracy as used: the law of the very draw that picked the action, against the posterior's own.

Everything takes leading axes (runs) before the axes of its draws.
"""

import numpy as np

DIRECTIONS = 32  # of the sliced Wasserstein distance


def action_probabilities(actions: np.ndarray, arms: int) -> np.ndarray:
    """The share of each arm among (..., draws) actions."""
    return np.asarray((actions[..., None] == np.arange(arms)).mean(axis=-2))


def total_variation(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Half the absolute difference of two distributions over arms."""
    return np.asarray(np.abs(p - q).sum(axis=-1) / 2)


def total_variation_floor(p: np.ndarray, n: int, m: int | np.ndarray) -> np.ndarray:
    """What total variation comes out on average where n and m draws have the same law p."""
    return np.asarray(np.sqrt(2 * p * (1 - p) / np.pi * (1 / n + 1 / m)).sum(axis=-1) / 2)


def covariance(draws: np.ndarray) -> np.ndarray:
    """Of (..., draws, size)."""
    centred = draws - draws.mean(axis=-2, keepdims=True)
    return np.asarray(np.swapaxes(centred, -1, -2) @ centred / (draws.shape[-2] - 1))


def whitener(reference: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean of the reference draws, and the matrix W for which W (x - mean) has the identity as covariance."""
    factor = np.linalg.cholesky(covariance(reference))
    return reference.mean(axis=-2, keepdims=True), np.linalg.inv(factor)


def moment_errors(draws: np.ndarray, reference: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Errors in posterior standard deviations: of the mean, of the covariance, and the mean spread (1 is right).

    In coordinates in which the reference has mean 0 and covariance I: root mean square of the mean, root mean square of
    the eigenvalues of (covariance - I), and the root of the mean variance.
    """
    mean, w = whitener(reference)
    white = (draws - mean) @ np.swapaxes(w, -1, -2)
    dim = white.shape[-1]
    spread = covariance(white)
    mean_error = np.sqrt(np.mean(white.mean(axis=-2) ** 2, axis=-1))
    covariance_error = np.linalg.norm(spread - np.eye(dim), axis=(-2, -1)) / np.sqrt(dim)
    return mean_error, covariance_error, np.sqrt(np.trace(spread, axis1=-2, axis2=-1) / dim)


def directions(dim: int) -> np.ndarray:
    """Directions drawn from the sphere, the same at every call."""
    raw = np.random.default_rng(0).normal(size=(DIRECTIONS, dim))
    return np.asarray(raw / np.linalg.norm(raw, axis=1, keepdims=True))


def sliced_wasserstein(draws: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Mean 1-Wasserstein distance of projections on fixed random directions, in posterior standard deviations."""
    mean, w = whitener(reference)
    along = directions(draws.shape[-1]) @ w
    ours, theirs = (np.sort(along @ np.swapaxes(x - mean, -1, -2), axis=-1) for x in (draws, reference))
    n, m = draws.shape[-2], reference.shape[-2]
    at = ((np.arange(n) + 0.5) / n * m).astype(int)
    return np.asarray(np.abs(ours - theirs[..., at]).mean(axis=(-2, -1)))


def nested_rhat(values: np.ndarray) -> np.ndarray:
    """Nested R-hat (Margossian et al. 2024) of (..., superchains, chains, draws, size) values; the worst coordinate.

    sqrt(1 + B / W): B the variance of the superchains' means, W the mean over superchains of the variance between
    their chains plus the mean variance within a chain. Works at one draw per chain, where the last term is absent.
    """
    between = values.mean(axis=(-3, -2)).var(axis=-2, ddof=1)
    within = np.zeros_like(between)
    if values.shape[-3] > 1:
        within = within + values.mean(axis=-2).var(axis=-2, ddof=1).mean(axis=-2)
    if values.shape[-2] > 1:
        within = within + values.var(axis=-2, ddof=1).mean(axis=(-3, -2))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = between / within  # 0/0 where all chains stand still at one point: not a number, and said so
    return np.asarray(np.max(np.sqrt(1 + ratio), axis=-1))
