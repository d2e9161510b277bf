"""Accuracy as used: the law of the very draw that picked the action, against the posterior's own."""

import numpy as np

DIRECTIONS = 32  # of the sliced Wasserstein distance


def action_probabilities(actions: np.ndarray, arms: int) -> np.ndarray:
    """The share of each arm among actions."""
    return np.bincount(actions, minlength=arms) / actions.size


def total_variation(p: np.ndarray, q: np.ndarray) -> float:
    """Half the absolute difference of two distributions over arms."""
    return float(np.abs(p - q).sum() / 2)


def total_variation_floor(p: np.ndarray, n: int, m: int) -> float:
    """What total variation comes out on average where n and m draws have the same law p."""
    return float(np.sqrt(2 * p * (1 - p) / np.pi * (1 / n + 1 / m)).sum() / 2)


def whitener(reference: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean of the reference draws, and the matrix W for which W (x - mean) has the identity as covariance."""
    mean = reference.mean(axis=0)
    factor = np.linalg.cholesky(np.atleast_2d(np.cov(reference.T)))
    return mean, np.linalg.inv(factor)


def moment_errors(draws: np.ndarray, reference: np.ndarray) -> tuple[float, float, float]:
    """Errors in posterior standard deviations: of the mean, of the covariance, and the mean spread (1 is right).

    In coordinates in which the reference has mean 0 and covariance I: root mean square of the mean, root mean square of
    the eigenvalues of (covariance - I), and the root of the mean variance.
    """
    mean, w = whitener(reference)
    white = (draws - mean) @ w.T
    dim = white.shape[1]
    covariance = np.atleast_2d(np.cov(white.T))
    mean_error = np.sqrt(np.mean(white.mean(axis=0) ** 2))
    covariance_error = np.linalg.norm(covariance - np.eye(dim)) / np.sqrt(dim)
    return float(mean_error), float(covariance_error), float(np.sqrt(np.trace(covariance) / dim))


def directions(dim: int) -> np.ndarray:
    """Directions drawn from the sphere, the same at every call."""
    raw = np.random.default_rng(0).normal(size=(DIRECTIONS, dim))
    return np.asarray(raw / np.linalg.norm(raw, axis=1, keepdims=True))


def sliced_wasserstein(draws: np.ndarray, reference: np.ndarray) -> float:
    """Mean 1-Wasserstein distance of projections on fixed random directions, in posterior standard deviations."""
    mean, w = whitener(reference)
    along = directions(draws.shape[1])
    ours, theirs = (np.sort(along @ w @ (x - mean).T, axis=1) for x in (draws, reference))
    at = ((np.arange(draws.shape[0]) + 0.5) / draws.shape[0] * reference.shape[0]).astype(int)
    return float(np.abs(ours - theirs[:, at]).mean())


def nested_rhat(values: np.ndarray) -> float:
    """Nested R-hat (Margossian et al. 2024) of (superchains, chains[, draws], size) values; the worst coordinate.

    sqrt(1 + B / W): B the variance of the superchains' means, W the mean over superchains of the variance between
    their chains plus the mean variance within a chain. Works at one draw per chain, where the last term is absent.
    """
    if values.ndim == 3:
        values = values[:, :, None, :]
    between = values.mean(axis=(1, 2)).var(axis=0, ddof=1)
    within = np.zeros_like(between)
    if values.shape[1] > 1:
        within = within + values.mean(axis=2).var(axis=1, ddof=1).mean(axis=0)
    if values.shape[2] > 1:
        within = within + values.var(axis=2, ddof=1).mean(axis=(0, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = between / within  # 0/0 where all chains stand still at one point: not a number, and said so
    return float(np.max(np.sqrt(1 + ratio)))
