"""Losses of programs that model their noise, and Gauss-Newton curvatures."""

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int

from fgtsva_ppl.posteriors.history import Data, SufficientStatistics
from fgtsva_ppl.rewards import FlatModel, NoisyFunction, RewardFunction


def gauss_newton(model: FlatModel, data: Data, position: Float[Array, " size"]) -> Float[Array, "size size"]:
    """The curvature 2 sum_s eta_s grad f grad f' of the squared loss. In forward mode: linear in the number of rows."""
    features = jnp.eye(data.moment.size) if isinstance(data, SufficientStatistics) else data.features
    jacobian: Array = jax.jacfwd(lambda x: model.function(x)(features))(position)
    weighted = (
        data.gram @ jacobian if isinstance(data, SufficientStatistics) else data.weights[:, None] * jacobian
    )
    return 2 * jacobian.T @ weighted


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
) -> Float[Array, "size size"]:
    """The curvature sum_s grad f grad f' / s^2 + 2 (1 + e^2 / s^2) grad log s grad log s', with residuals e.

    The 1 in the last factor gives the Fisher information. The term e^2 / s^2 covers positions that a new datum has left
    far out: there the curvature is that much larger, and steps that ignore it would always be rejected.
    """
    features = jnp.eye(data.moment.size) if isinstance(data, SufficientStatistics) else data.features

    def values(x: Array) -> tuple[Array, Array]:
        function = model.function(x)
        return function(features), log_variance(function, features, min_sigma) / 2

    (means, logs), (predicted, log_s) = jax.jacfwd(values)(position), values(position)
    precisions = jnp.exp(-2 * log_s)
    if isinstance(data, SufficientStatistics):
        function = model.function(position)
        assert isinstance(function, NoisyFunction)
        fit = precisions[0] * means.T @ data.gram @ means
        surprise = rounds + precisions[0] * data.loss(function.mean)
        return fit + 2 * surprise * jnp.outer(logs[0], logs[0])
    fit = means.T @ ((data.weights * precisions)[:, None] * means)
    surprise = data.weights * (1 + precisions * (data.rewards - predicted) ** 2)
    return fit + 2 * logs.T @ (surprise[:, None] * logs)
