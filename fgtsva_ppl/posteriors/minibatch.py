"""Gradients from a few of the data: what stochastic-gradient samplers need of a posterior that keeps its rows."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from fgtsva_ppl.posteriors.history import GradientCache, ReplayBuffer
from fgtsva_ppl.rewards.program import FlatModel, RewardFunction

NEWTON_STEPS = 10  # towards the mode, whenever the anchor is moved

type Loss = Callable[[ReplayBuffer, RewardFunction], Array]
type MinibatchGradient = Callable[[Array, Array, int], Array]  # key, position, number of data


class Batches(NamedTuple):
    """The data, to be picked from."""

    rows: ReplayBuffer
    filled: Array  # so many rows
    factor: Array | float  # by which every weight is multiplied as of now
    gradient_cache: GradientCache | None
    padding: Array  # real features, for a batch that is larger than the data


def minibatch_gradient(
    model: FlatModel, batches: Batches, loss: Loss, bonus: Callable[[RewardFunction], Array]
) -> MinibatchGradient:
    """(key, position, m) -> gradient of the log-posterior, its loss estimated from m of the filled rows.

    Rows are picked uniformly with replacement and scaled, so that the estimate is unbiased; where no more than m are
    filled it uses each once and is exact. Prior and bonus are exact always. With an anchor (a control variate, Baker
    et al. 2019) only the difference to the gradient there is estimated: that is the smaller, the nearer the anchor.
    """
    rows, filled, factor, running, padding = batches
    log_prior = model.logdensity(model.program)

    def gradient(key: Array, position: Array, m: int) -> Array:
        fits = filled <= m
        picked = jax.random.randint(key, (m,), 0, jnp.maximum(filled, 1))
        batch = jax.tree.map(
            lambda row: jnp.take(row, jnp.where(fits, jnp.arange(m), picked), 0, mode="fill", fill_value=0),
            rows,
        ).padded_with(padding)
        scale = factor * jnp.where(fits, 1.0, filled / m)

        def estimate(position: Array) -> Array:
            function = model.function(position)
            return log_prior(position) - scale * loss(batch, function) + bonus(function)

        there = jax.grad(estimate)(position)
        anchor = None if running is None else running.anchor
        if anchor is None:
            return there
        return there + scale * loss_gradient(model, loss, batch, anchor.position) - factor * anchor.pull

    return gradient


def loss_gradient(model: FlatModel, loss: Loss, rows: ReplayBuffer, position: Array) -> Array:
    """Of the loss of some rows."""
    return jax.grad(lambda x: loss(rows, model.function(x)))(position)


def mode(
    model: FlatModel,
    loss: Callable[[RewardFunction], Array],
    precision: Callable[[Array], Array],
    start: Array,
) -> Array:
    """Where prior and data are most probable, nearly: Gauss-Newton steps, damped when they do not go uphill."""
    log_prior = model.logdensity(model.program)

    def density(x: Array) -> Array:
        return log_prior(x) - loss(model.function(x))

    def step(carry: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
        position, damping = carry
        matrix = precision(position)
        damped = matrix + damping * jnp.diag(jnp.diagonal(matrix))
        proposed = position + jnp.linalg.solve(damped, jax.grad(density)(position))
        uphill = density(proposed) > density(position)
        return (jnp.where(uphill, proposed, position), jnp.where(uphill, damping / 10, damping * 10)), None

    (found, _), _ = jax.lax.scan(step, (start, jnp.asarray(1e-3)), length=NEWTON_STEPS)
    return found
