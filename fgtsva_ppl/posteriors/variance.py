"""Programs that model their own noise: the loss of a datum and its curvature.

(r - f)^2 / (2 s^2) + log s takes the place of eta (r - f)^2: the Bayes temperature, not half of it as where sigma_t is
told. Counted twice, a likelihood with no more data than parameters has its mass where there is no noise at all, and
agents lock in. s^2 = sigma^2 + alpha^2, so that no round weighs more than the posterior's alpha allows.
"""

import jax
import jax.numpy as jnp
from jax import Array

from fgtsva_ppl.posteriors.history import ReplayBuffer, SufficientStatistics
from fgtsva_ppl.rewards.program import FlatModel, NoisyFunction, RewardFunction


def log_variance(function: RewardFunction, features: Array, floor: Array | float) -> Array:
    """log s^2 for each row."""
    assert isinstance(function, NoisyFunction)
    return jnp.logaddexp(2 * function.log_sigma(features), 2 * jnp.log(floor))


def noisy_loss(
    function: RewardFunction, data: SufficientStatistics | ReplayBuffer, rounds: Array, floor: Array | float
) -> Array:
    """The loss of all data."""
    assert isinstance(function, NoisyFunction)
    if isinstance(data, SufficientStatistics):
        (logarithm,) = log_variance(function, jnp.zeros((1, data.moment.size)), floor)
        return (jnp.exp(-logarithm) * data.loss(function.mean) + rounds * logarithm) / 2
    logarithms = log_variance(function, data.features, floor)
    errors = (data.rewards - function(data.features)) ** 2
    return jnp.sum(data.weights * (jnp.exp(-logarithms) * errors + logarithms)) / 2


def noisy_curvature(
    model: FlatModel,
    data: SufficientStatistics | ReplayBuffer,
    rounds: Array,
    position: Array,
    floor: Array | float,
) -> Array:
    """sum grad f grad f' / s^2 + 2 (1 + e^2/s^2) grad log s grad log s', e a residual.

    Of the last factor 1 is the Fisher information, and e^2/s^2 is there for a position that a new datum has left far
    out: the curvature is that much larger there, and a step in its ignorance would be rejected for ever.
    """
    features = jnp.eye(data.moment.size) if isinstance(data, SufficientStatistics) else data.features

    def values(x: Array) -> tuple[Array, Array]:
        function = model.function(x)
        return function(features), log_variance(function, features, floor) / 2

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
