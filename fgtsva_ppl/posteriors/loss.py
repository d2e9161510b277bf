"""Losses of programs that model their noise, and Gauss-Newton curvatures."""

from collections.abc import Callable

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int

from fgtsva_ppl.posteriors.history import Data, ReplayBuffer, SufficientStatistics
from fgtsva_ppl.rewards import FlatModel, NoisyFunction, RewardFunction, row_gradients

type Matrix = Float[Array, "size size"] | Float[Array, " size"]  # or its diagonal


def gauss_newton(
    model: FlatModel, data: Data, position: Float[Array, " size"], *, diagonal: bool = False
) -> Matrix:
    """The curvature 2 sum_s eta_s grad f grad f' of the squared loss, or its diagonal."""
    if isinstance(data, SufficientStatistics):
        rows = row_gradients(model.function, jnp.eye(data.moment.size), position)
        return 2 * product(rows, data.gram @ rows, diagonal)
    factor = gauss_newton_factor(model, data, position)
    return product(factor, factor, diagonal)


def gauss_newton_factor(
    model: FlatModel, rows: ReplayBuffer, position: Float[Array, " size"]
) -> Float[Array, "rows size"]:
    """Rows R with R'R the Gauss-Newton curvature."""
    return jnp.sqrt(2 * rows.weights)[:, None] * row_gradients(model.function, rows.features, position)


def log_variance(
    function: RewardFunction, features: Float[Array, "rows size"], min_sigma: Float[Array, ""] | float
) -> Float[Array, " rows"]:
    """log s^2 = log(sigma^2 + min_sigma^2) for each row."""
    assert isinstance(function, NoisyFunction)
    return jnp.logaddexp(2 * function.log_sigma(features), 2 * jnp.log(min_sigma))


def noisy_loss(
    function: RewardFunction, data: Data, rounds: Int[Array, ""], min_sigma: Float[Array, ""] | float
) -> Float[Array, ""]:
    """The negative log-likelihood sum_s (r_s - f)^2 / (2 s^2) + log s, without its constant."""
    assert isinstance(function, NoisyFunction)
    if isinstance(data, SufficientStatistics):
        (logarithm,) = log_variance(function, jnp.zeros((1, data.moment.size)), min_sigma)
        return (jnp.exp(-logarithm) * data.loss(function.mean) + rounds * logarithm) / 2
    logarithms = log_variance(function, data.features, min_sigma)
    errors = (data.rewards - function(data.features)) ** 2
    return jnp.sum(data.weights * (jnp.exp(-logarithms) * errors + logarithms)) / 2


def noisy_curvature(
    model: FlatModel,
    data: Data,
    rounds: Int[Array, ""],
    position: Float[Array, " size"],
    min_sigma: Float[Array, ""] | float,
    *,
    diagonal: bool = False,
) -> Matrix:
    """The curvature sum_s grad f grad f' / s^2 + 2 (1 + e^2 / s^2) grad log s grad log s', with residuals e.

    The 1 in the last factor gives the Fisher information. The term e^2 / s^2 covers positions that a new datum has left
    far out: there the curvature is that much larger, and steps that ignore it would always be rejected.
    """
    if not isinstance(data, SufficientStatistics):
        factor = noisy_factor(model, data, position, min_sigma)
        return product(factor, factor, diagonal)
    features, function = jnp.eye(data.moment.size), model.function(position)
    assert isinstance(function, NoisyFunction)
    means = row_gradients(model.function, features, position)
    logs = row_gradients(_log_s(model, min_sigma), features[:1], position)
    precision = jnp.exp(-log_variance(function, features[:1], min_sigma)[0])
    surprise = rounds + precision * data.loss(function.mean)
    return precision * product(means, data.gram @ means, diagonal) + 2 * surprise * product(
        logs, logs, diagonal
    )


def noisy_factor(
    model: FlatModel,
    rows: ReplayBuffer,
    position: Float[Array, " size"],
    min_sigma: Float[Array, ""] | float,
) -> Float[Array, "factor_rows size"]:
    """Rows R with R'R the curvature of `noisy_curvature`."""
    function = model.function(position)
    precisions = jnp.exp(-log_variance(function, rows.features, min_sigma))
    means = row_gradients(model.function, rows.features, position)
    logs = row_gradients(_log_s(model, min_sigma), rows.features, position)
    surprise = 1 + precisions * (rows.rewards - function(rows.features)) ** 2
    return jnp.concatenate(
        [
            jnp.sqrt(rows.weights * precisions)[:, None] * means,
            jnp.sqrt(2 * rows.weights * surprise)[:, None] * logs,
        ]
    )


def _log_s(model: FlatModel, min_sigma: Float[Array, ""] | float) -> Callable[[Array], RewardFunction]:
    return lambda x: lambda rows: log_variance(model.function(x), rows, min_sigma) / 2


def product(
    left: Float[Array, "rows size"], right: Float[Array, "rows size"], diagonal: bool = False
) -> Matrix:
    """The matrix left' right, or its diagonal."""
    return jnp.sum(left * right, axis=0) if diagonal else left.T @ right
