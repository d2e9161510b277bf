"""Accuracy as used: the distribution of the draw that picks the action, compared with reference draws.

Draws are arrays of NumPy with any leading axes, such as runs.
"""

import numpy as np
from jaxtyping import Float, Int

NUM_DIRECTIONS = 32  # of the sliced Wasserstein distance
MIN_VARIANCE = 1e-4  # of a principal direction, relative to the largest


def action_probabilities(
    actions: Int[np.ndarray, "*runs draws"], arms: int
) -> Float[np.ndarray, "*runs arms"]:
    """Relative frequency of each arm among the actions of several draws."""
    return np.asarray((actions[..., None] == np.arange(arms)).mean(axis=-2))


def total_variation(
    p: Float[np.ndarray, "*runs arms"], q: Float[np.ndarray, "*runs arms"]
) -> Float[np.ndarray, "*runs"]:
    """Total variation distance of two action distributions, sum_a |p_a - q_a| / 2."""
    return np.asarray(np.abs(p - q).sum(axis=-1) / 2)


def total_variation_floor(
    p: Float[np.ndarray, "*runs arms"], n: int, m: int | Float[np.ndarray, "*runs 1"]
) -> Float[np.ndarray, "*runs"]:
    """Expected total variation distance between the frequencies of n and of m draws from one distribution.

    A Monte Carlo floor: an exact sampler has this distance on average. By the normal approximation of binomial counts,
    E|p_a - q_a| = sqrt(2/pi p_a (1 - p_a) (1/n + 1/m)).

    Args:
        p: The common action distribution.
        n: Number of draws of the first sample.
        m: Number of draws of the second, or its effective size per run.

    Returns:
        The floor per run.
    """
    return np.asarray(np.sqrt(2 * p * (1 - p) / np.pi * (1 / n + 1 / m)).sum(axis=-1) / 2)


def covariance(draws: Float[np.ndarray, "*runs draws size"]) -> Float[np.ndarray, "*runs size size"]:
    """Sample covariance of draws."""
    centred = draws - draws.mean(axis=-2, keepdims=True)
    return np.asarray(np.swapaxes(centred, -1, -2) @ centred / (draws.shape[-2] - 1))


def whitening(
    reference: Float[np.ndarray, "*runs draws size"],
) -> tuple[Float[np.ndarray, "*runs 1 size"], Float[np.ndarray, "*runs size size"]]:
    """Mean of reference draws, and the matrix W for which W (x - mean) has covariance I."""
    factor = np.linalg.cholesky(covariance(reference))
    return reference.mean(axis=-2, keepdims=True), np.linalg.inv(factor)


def principal_coordinates(
    reference: Float[np.ndarray, "runs reference_draws values"], draws: Float[np.ndarray, "runs draws values"]
) -> tuple[Float[np.ndarray, "runs draws size"], Float[np.ndarray, "runs reference_draws size"]]:
    """Draws and reference in the principal directions of the reference, without those of negligible variance.

    Mean rewards of many arms under few parameters have a singular covariance, which cannot be whitened. All runs keep
    as many directions as the run with the fewest that have more than MIN_VARIANCE of the largest variance.

    Args:
        reference: Mean rewards under reference draws.
        draws: Mean rewards under draws of the sampler.

    Returns:
        The draws, and the reference.
    """
    variances, directions = np.linalg.eigh(covariance(np.nan_to_num(reference, posinf=0.0, neginf=0.0)))
    size = max(1, int(np.min(np.sum(variances > MIN_VARIANCE * variances[:, -1:], axis=1))))
    kept = directions[..., -size:]
    return draws @ kept, reference @ kept


def moment_errors(
    draws: Float[np.ndarray, "*runs draws size"], reference: Float[np.ndarray, "*runs reference_draws size"]
) -> tuple[Float[np.ndarray, "*runs"], Float[np.ndarray, "*runs"], Float[np.ndarray, "*runs"]]:
    """Errors of the first two moments in units of the posterior's standard deviation.

    All are computed in whitened coordinates, in which the reference has mean 0 and covariance I, so they do not depend
    on the parametrization up to affine maps.

    Args:
        draws: Draws of the sampler.
        reference: Draws from the posterior.

    Returns:
        The error of the mean, the root mean square of its coordinates; the error of the covariance C, the root mean
        square of the eigenvalues of C - I; and the ratio of standard deviations, the root of the mean
        variance (1 is right).
    """
    mean, w = whitening(reference)
    white = (draws - mean) @ np.swapaxes(w, -1, -2)
    size = white.shape[-1]
    white_covariance = covariance(white)
    mean_error = np.sqrt(np.mean(white.mean(axis=-2) ** 2, axis=-1))
    covariance_error = np.linalg.norm(white_covariance - np.eye(size), axis=(-2, -1)) / np.sqrt(size)
    sd_ratio = np.sqrt(np.trace(white_covariance, axis1=-2, axis2=-1) / size)
    return np.asarray(mean_error), np.asarray(covariance_error), np.asarray(sd_ratio)


def projection_directions(size: int) -> Float[np.ndarray, "directions size"]:
    """Random unit vectors, the same in every call."""
    normal = np.random.default_rng(0).normal(size=(NUM_DIRECTIONS, size))
    return np.asarray(normal / np.linalg.norm(normal, axis=1, keepdims=True))


def sliced_wasserstein(
    draws: Float[np.ndarray, "*runs draws size"], reference: Float[np.ndarray, "*#runs reference_draws size"]
) -> Float[np.ndarray, "*runs"]:
    """Sliced 1-Wasserstein distance (Bonneel et al. 2015) in units of the posterior's standard deviation.

    The mean over fixed random directions of the distance between projections, in whitened coordinates.

    Args:
        draws: Draws of the sampler.
        reference: Draws from the posterior.

    Returns:
        The distance per run.
    """
    mean, w = whitening(reference)
    directions = projection_directions(draws.shape[-1]) @ w
    projected, projected_reference = (
        np.sort(directions @ np.swapaxes(x - mean, -1, -2), axis=-1) for x in (draws, reference)
    )
    n, m = draws.shape[-2], reference.shape[-2]
    quantile_indices = ((np.arange(n) + 0.5) / n * m).astype(int)
    return np.asarray(np.abs(projected - projected_reference[..., quantile_indices]).mean(axis=(-2, -1)))
