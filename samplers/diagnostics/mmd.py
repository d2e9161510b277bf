"""Maximum mean discrepancy: two samples compared by a kernel.

Blind spot: everything on a scale far below the bandwidth. Draws that are rounded to a grid, or a wrong spread along a
direction that is narrow beside the others, hardly change it; whitened coordinates help against the latter.
"""

import math

import numpy as np
from jaxtyping import Float


def _square_distances(
    first: Float[np.ndarray, "first_draws size"], second: Float[np.ndarray, "second_draws size"]
) -> Float[np.ndarray, "first_draws second_draws"]:
    squares = np.sum(first**2, axis=1)[:, None] + np.sum(second**2, axis=1) - 2 * first @ second.T
    return np.asarray(np.maximum(squares, 0.0))


def median_bandwidth(draws: Float[np.ndarray, "draws size"]) -> float:
    """The median distance between two draws (the median heuristic; Gretton et al. 2012)."""
    rows, columns = np.triu_indices(len(draws), k=1)
    return float(np.median(np.sqrt(_square_distances(draws, draws)[rows, columns])))


def maximum_mean_discrepancy(
    draws: Float[np.ndarray, "draws size"],
    reference: Float[np.ndarray, "reference_draws size"],
    *,
    bandwidth: float | None = None,
) -> float:
    """Squared maximum mean discrepancy with the kernel exp(-|x - y|^2 / (2 bandwidth^2)), unbiased.

    MMD^2 = E k(x, x') + E k(y, y') - 2 E k(x, y), estimated without the pairs of a draw with itself (Gretton et al.
    2012, eq. 3): its mean is zero if both samples come from one distribution, and it may be negative.

    Args:
        draws: Draws of a sampler.
        reference: Draws to compare with.
        bandwidth: Of the kernel; None for the median distance between reference draws.

    Returns:
        The squared discrepancy, at most 2; NaN if a draw is not finite.
    """
    if not (np.all(np.isfinite(draws)) and np.all(np.isfinite(reference))):
        return math.nan
    width = median_bandwidth(reference) if bandwidth is None else bandwidth
    if width == 0:
        return math.nan

    def kernel(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        return np.asarray(np.exp(-_square_distances(first, second) / (2 * width**2)))

    n, m = len(draws), len(reference)
    own = (kernel(draws, draws).sum() - n) / (n * (n - 1))
    theirs = (kernel(reference, reference).sum() - m) / (m * (m - 1))
    return float(own + theirs - 2 * kernel(draws, reference).mean())
