"""Programs that model their own noise: the loss of a datum and its curvature, at the temperature of the family.

(r - f)^2 / s^2 + log s^2 takes the place of eta (r - f)^2: twice the negative log-likelihood, half the Bayes
temperature. s^2 = sigma^2 + alpha^2, so that a round without noise weighs no more than the posterior's alpha allows.
"""

import jax
import jax.numpy as jnp
from jax import Array

from fgtsva_ppl.history import History, Rows, Sums
from fgtsva_ppl.rewards.program import Latent, NoisyFunction, RewardFunction


def log_variance(function: RewardFunction, features: Array, floor: Array | float) -> Array:
    """log s^2 for each row."""
    assert isinstance(function, NoisyFunction)
    return jnp.logaddexp(2 * function.log_sigma(features), 2 * jnp.log(floor))


def noisy_loss(function: RewardFunction, data: Sums | Rows, rounds: Array, floor: Array | float) -> Array:
    """The loss of all data."""
    assert isinstance(function, NoisyFunction)
    if isinstance(data, Sums):
        (logarithm,) = log_variance(function, jnp.zeros((1, data.moment.size)), floor)
        return jnp.exp(-logarithm) * data.loss(function.mean) + rounds * logarithm
    logarithms = log_variance(function, data.features, floor)
    errors = (data.rewards - function(data.features)) ** 2
    return jnp.sum(data.weights * (jnp.exp(-logarithms) * errors + logarithms))


def noisy_curvature(model: Latent, history: History, position: Array, floor: Array | float) -> Array:
    """Gauss-Newton: the prior's precision plus sum 2 grad f grad f' / s^2 + grad log s^2 grad log s^2'."""
    data = history.data
    features = jnp.eye(data.moment.size) if isinstance(data, Sums) else data.features

    def values(x: Array) -> tuple[Array, Array]:
        function = model.function(x)
        return function(features), log_variance(function, features, floor)

    means, logs = jax.jacobian(values)(position)
    precisions = jnp.exp(-values(position)[1])
    if isinstance(data, Sums):
        fit = 2 * precisions[0] * means.T @ data.gram @ means
        return jnp.asarray(model.prior_precision) + fit + history.rounds * jnp.outer(logs[0], logs[0])
    fit = 2 * means.T @ ((data.weights * precisions)[:, None] * means)
    return jnp.asarray(model.prior_precision) + fit + logs.T @ (data.weights[:, None] * logs)
