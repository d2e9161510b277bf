"""Gradients from a few of the data: what stochastic-gradient samplers need of a posterior that keeps its rows."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array

from fgtsva_ppl.history import Rows
from fgtsva_ppl.rewards.program import Latent, RewardFunction


def minibatch_gradient(
    model: Latent,
    rows: Rows,
    filled: Array,
    loss: Callable[[Rows, RewardFunction], Array],
    bonus: Callable[[RewardFunction], Array],
) -> Callable[[Array, Array, int], Array]:
    """(key, position, m) -> gradient of the log-posterior, its loss estimated from m of the filled rows.

    Rows are picked uniformly with replacement and scaled, so that the estimate is unbiased; where no more than m are
    filled it uses each once and is exact. Prior and bonus are exact always.
    """
    log_prior = model.logdensity(model.program)

    def gradient(key: Array, position: Array, m: int) -> Array:
        fits = filled <= m
        picked = jax.random.randint(key, (m,), 0, jnp.maximum(filled, 1))
        batch = jax.tree.map(
            lambda row: jnp.take(row, jnp.where(fits, jnp.arange(m), picked), 0, mode="fill", fill_value=0),
            rows,
        )
        scale = jnp.where(fits, 1.0, filled / m)

        def estimate(position: Array) -> Array:
            function = model.function(position)
            return log_prior(position) - scale * loss(batch, function) + bonus(function)

        return jax.grad(estimate)(position)

    return gradient
