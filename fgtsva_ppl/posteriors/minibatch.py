"""Gradients estimated from a few of the data, for stochastic-gradient samplers."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int

from fgtsva_ppl.posteriors.history import GradientCache, ReplayBuffer
from fgtsva_ppl.rewards import FlatModel, RewardFunction

NEWTON_STEPS = 10  # from the previous anchor to the new mode

type Loss = Callable[[ReplayBuffer, RewardFunction], Array]
type MinibatchGradient = Callable[[Array, Array, int], Array]  # (key, position, batch size) -> gradient


class MinibatchData(NamedTuple):
    """The data from which minibatches are drawn.

    Attributes:
        rows: The buffer.
        num_rows: Number of filled rows.
        weight_scale: Factor of all weights in the current round.
        gradient_cache: With the anchor of the control variate, if there is one.
        padding: Valid features for batches that are larger than the data.
    """

    rows: ReplayBuffer
    num_rows: Int[Array, ""]
    weight_scale: Float[Array, ""] | float
    gradient_cache: GradientCache | None
    padding: Float[Array, " dim"]


def minibatch_gradient(
    model: FlatModel, data: MinibatchData, loss: Loss, bonus: Callable[[RewardFunction], Array]
) -> MinibatchGradient:
    """An unbiased estimate of the gradient of the log-posterior.

    Rows are drawn uniformly with replacement and scaled by their number over the batch size. If no more rows are filled
    than the batch holds, each is used once and the gradient is exact. Prior and bonus are always exact. With an anchor
    (a control variate; Baker et al. 2019) only the difference to the gradient at the anchor is estimated, whose
    variance falls as the anchor comes near.

    Args:
        model: The reward program.
        data: The buffer.
        loss: Of some rows.
        bonus: The feel-good term.

    Returns:
        A function (key, position, batch size) -> gradient.
    """
    rows, num_rows, weight_scale, cache, padding = data
    log_prior = model.logdensity(model.program)

    def gradient(key: Array, position: Array, batch_size: int) -> Array:
        fits = num_rows <= batch_size
        drawn = jax.random.randint(key, (batch_size,), 0, jnp.maximum(num_rows, 1))
        indices = jnp.where(fits, jnp.arange(batch_size), drawn)
        batch = jax.tree.map(
            lambda row: jnp.take(row, indices, 0, mode="fill", fill_value=0), rows
        ).padded_with(padding)
        scale = weight_scale * jnp.where(fits, 1.0, num_rows / batch_size)

        def estimate(position: Array) -> Array:
            function = model.function(position)
            return log_prior(position) - scale * loss(batch, function) + bonus(function)

        here = jax.grad(estimate)(position)
        if cache is None:
            return here
        at_anchor = loss_gradient(model, loss, batch, cache.anchor.position)
        return here + scale * at_anchor - weight_scale * cache.anchor.gradient

    return gradient


def loss_gradient(
    model: FlatModel, loss: Loss, rows: ReplayBuffer, position: Float[Array, " size"]
) -> Float[Array, " size"]:
    """The gradient of the loss of some rows."""
    return jax.grad(lambda x: loss(rows, model.function(x)))(position)


def find_mode(
    model: FlatModel,
    loss: Callable[[RewardFunction], Array],
    precision: Callable[[Array], Array],
    start: Float[Array, " size"],
) -> Float[Array, " size"]:
    """Approximates the mode of prior times likelihood by damped Gauss-Newton steps.

    Args:
        model: The reward program.
        loss: Of all data.
        precision: Curvature of prior and loss at a position.
        start: The starting position.
    """
    log_prior = model.logdensity(model.program)

    def logdensity(x: Array) -> Array:
        return log_prior(x) - loss(model.function(x))

    def step(carry: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
        position, damping = carry
        matrix = precision(position)
        damped = matrix + damping * jnp.diag(jnp.diagonal(matrix))
        proposed = position + jnp.linalg.solve(damped, jax.grad(logdensity)(position))
        uphill = logdensity(proposed) > logdensity(position)
        return (jnp.where(uphill, proposed, position), jnp.where(uphill, damping / 10, damping * 10)), None

    (mode, _), _ = jax.lax.scan(step, (start, jnp.asarray(1e-3)), length=NEWTON_STEPS)
    return mode
