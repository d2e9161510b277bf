"""Exact draws from a linear posterior with partially pooled biases: quadrature over one scale, then a Gaussian.

Given the scale of the biases all other parameters are Gaussian. So the marginal density of the logarithm of the scale
is known up to a constant: it is integrated on a grid, and the rest is drawn from its conditional distribution.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

NUM_CELLS = 4000
LOWEST = (
    25.0  # below the logarithm of the prior's scale; the density falls like the scale itself, so by exp(-25)
)
HIGHEST = 2.5  # above it: 12 prior standard deviations
METHOD = "quadrature over the logarithm of bias_scale, and a Gaussian given that"


def pooled_draws(
    rng: np.random.Generator,
    settings: Mapping[str, Any],
    gram: Float[np.ndarray, "coefficients coefficients"],
    moment: Float[np.ndarray, " coefficients"],
    arms: int,
    number: int,
) -> Float[np.ndarray, "number size"]:
    """Draws from the posterior of a `hierarchical` reward without a bonus.

    Args:
        rng: Source of randomness.
        settings: Of the reward: prior_scale, bias_scale.
        gram: Weighted sum of outer products of features and one-hot arms.
        moment: Weighted sum of rewards times these.
        arms: Number of biases.
        number: Of draws.

    Returns:
        Flat vectors: bias_mean, the logarithm of bias_scale, bias_standard, theta.
    """
    dim = len(moment) - arms
    scale, spread = settings["prior_scale"] or dim**-0.5, settings["bias_scale"]
    prior = np.diag(np.concatenate([[spread**-2.0], np.ones(arms), np.full(dim, scale**-2.0)]))

    def conditional(log_scales: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Precision and shift of (bias_mean, bias_standard, theta) given the scale."""
        coefficients = np.zeros((len(log_scales), dim + arms, 1 + arms + dim))
        coefficients[:, :dim, 1 + arms :] = np.eye(dim)
        coefficients[:, dim:, 0] = 1.0
        coefficients[:, dim:, 1 : 1 + arms] = np.exp(log_scales)[:, None, None] * np.eye(arms)
        transposed = coefficients.swapaxes(-1, -2)
        return prior + 2 * transposed @ gram @ coefficients, 2 * transposed @ moment

    edges = np.log(spread) + np.linspace(-LOWEST, HIGHEST, NUM_CELLS + 1)
    middles = (edges[1:] + edges[:-1]) / 2
    precision, shift = conditional(middles)
    explained = np.einsum("si,si->s", shift, np.linalg.solve(precision, shift[..., None])[..., 0])
    half_normal = middles - np.exp(2 * middles) / (2 * spread**2)  # with the logarithm of the Jacobian
    log_marginal = half_normal + explained / 2 - np.linalg.slogdet(precision)[1] / 2
    weights = np.exp(log_marginal - log_marginal.max())
    cells = rng.choice(NUM_CELLS, number, p=weights / weights.sum())
    log_scales = rng.uniform(edges[cells], edges[cells + 1])
    precision, shift = conditional(log_scales)
    mean = np.linalg.solve(precision, shift[..., None])
    root = np.linalg.cholesky(precision).swapaxes(-1, -2)
    rest = (mean + np.linalg.solve(root, rng.normal(size=mean.shape)))[..., 0]
    return np.concatenate([rest[:, :1], log_scales[:, None], rest[:, 1:]], axis=1)
