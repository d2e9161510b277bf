"""Nested R-hat, for many short chains: one draw per chain is enough.

Blind spot: superchains that all miss the same mode agree with each other. It says whether starts are forgotten, not
whether the right distribution was found.
"""

import numpy as np
from jaxtyping import Float


def nested_rhat(
    values: Float[np.ndarray, "*runs superchains chains draws size"],
) -> Float[np.ndarray, "*runs"]:
    """Nested R-hat (Margossian et al. 2024), sqrt(1 + B / W), of the worst coordinate.

    B is the variance of the superchains' means. W is the mean over superchains of the variance between their chains'
    means plus the mean variance within a chain. It is defined for a single draw per chain, where the last term is 0.

    Args:
        values: Positions; the chains of a superchain share a starting point.

    Returns:
        Nested R-hat per run; NaN (0/0) if no chain has moved and all are at one point.
    """
    between = values.mean(axis=(-3, -2)).var(axis=-2, ddof=1)
    within = np.zeros_like(between)
    if values.shape[-3] > 1:
        within = within + values.mean(axis=-2).var(axis=-2, ddof=1).mean(axis=-2)
    if values.shape[-2] > 1:
        within = within + values.var(axis=-2, ddof=1).mean(axis=(-3, -2))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = between / within
    return np.asarray(np.max(np.sqrt(1 + ratio), axis=-1))
