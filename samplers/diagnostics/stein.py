"""Kernel Stein discrepancy: draws against a density of which only the gradient of its logarithm (the score) is known.

Blind spot: the weights of separated modes. Between modes the density is so small that the scores do not depend on the
weights, so draws from one mode only have a discrepancy near zero.
"""

import math

import numpy as np
from jaxtyping import Float


def kernel_stein_discrepancy(
    draws: Float[np.ndarray, "draws size"],
    scores: Float[np.ndarray, "draws size"],
    *,
    scale: float = 1.0,
    unbiased: bool = False,
) -> float:
    """Kernel Stein discrepancy with the inverse multiquadric kernel (Gorham & Mackey 2017).

    The kernel is k(x, y) = (1 + |x - y|^2 / scale^2)^(-1/2). With scores s(x) = grad log p(x),

        KSD^2 = mean over pairs of  s(x)'s(y) k + s(x)'grad_y k + s(y)'grad_x k + trace grad_x grad_y k.

    It is zero only if the draws come from p, for densities whose tails are at least exponential.

    Args:
        draws: Draws, best in coordinates in which the density has about unit scale in all directions.
        scores: Gradients of the log-density at the draws, in the same coordinates.
        scale: Length scale of the kernel.
        unbiased: Leave out the pairs of a draw with itself (a U-statistic); the mean is then zero under p.

    Returns:
        The root of the mean over all pairs, O(1/sqrt(draws)) for draws from p; or, if `unbiased`, the square itself,
        which may be negative. NaN if a score or a draw is not finite.
    """
    if not (np.all(np.isfinite(draws)) and np.all(np.isfinite(scores))):
        return math.nan
    number, size = draws.shape
    squares = np.sum(draws**2, axis=1)
    distance = np.maximum(squares[:, None] + squares - 2 * draws @ draws.T, 0.0) / scale**2
    np.fill_diagonal(distance, 0.0)
    base = 1 + distance
    # grad_x k = -(x - y) base^(-3/2) / scale^2 and grad_y k is its negative.
    own, cross = np.sum(draws * scores, axis=1), draws @ scores.T
    along = own[:, None] + own - cross - cross.T  # (x - y)'(s(x) - s(y))
    pairs = (scores @ scores.T) * base**-0.5 + along * base**-1.5 / scale**2
    pairs += (size * base**-1.5 - 3 * distance * base**-2.5) / scale**2
    if unbiased:
        return float((pairs.sum() - np.trace(pairs)) / (number * (number - 1)))
    return math.sqrt(max(float(pairs.mean()), 0.0))
