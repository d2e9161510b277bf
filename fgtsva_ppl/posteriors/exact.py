"""Exact draws: from a tilted Gaussian where rewards are linear, from a softmax where the class is finite."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from fgtsva_ppl.posteriors.base import Posterior
from fgtsva_ppl.posteriors.history import History, SufficientStatistics
from fgtsva_ppl.rewards import FiniteProgram, LinearFunction, Program
from fgtsva_ppl.rewards.model import GaussianPrior
from fgtsva_ppl.types import Round
from samplers._argmax import argmax
from samplers.gaussian import Gaussian, Tilt
from samplers.reference import tilted_gaussian
from samplers.target import Target, with_gradient


def gaussian_part(prior: GaussianPrior, data: SufficientStatistics) -> Gaussian:
    """Prior times likelihood of a linear reward: P = P_0 + 2 sum eta phi phi', shift P_0 m_0 + 2 sum eta r phi."""
    mean, prior_precision = map(jnp.asarray, prior)
    precision = prior_precision + 2 * data.gram
    shift = prior_precision @ mean + 2 * data.moment
    return Gaussian(precision, shift)


def with_exact_draws(
    target: Target, gaussian: Gaussian, posterior: Posterior, history: History, round: Round
) -> Target:
    """Adds moments, analytic gradient and exact draws of a Gaussian tilted by lambda_t max_a <a, theta>.

    The bonus must have this form: a hard maximum without a cap over one action set. Else only the moments are added.
    """
    target = target._replace(moments=lambda: history.moments or gaussian.moments())
    if posterior.maximum != "hard" or posterior.cap is not None or history.past is not None:
        return target
    tilt = Tilt(jnp.asarray(round.actions), posterior.tilt(history, round))
    actions, lam = tilt
    precision, shift = gaussian

    def gradient(position: Array) -> Array:
        return shift - precision @ position + lam * actions[argmax(actions @ position)]

    def tilted() -> tilted_gaussian.TiltedGaussian:
        return tilted_gaussian.tilt_moments(history.moments or gaussian.moments(), tilt)

    return target._replace(
        logdensity=with_gradient(target.logdensity, gradient),
        exact=lambda key: tilted_gaussian.exact_draw(key, tilted()),
        exact_draws=lambda key, number: tilted_gaussian.exact_draws(key, tilted(), number),
        tilt=tilt,
    )


def finite_class_draw(
    posterior: Posterior, program: Program, history: History, round: Round
) -> Callable[[Array], Array] | None:
    """Exact draws if the reward class is finite: the posterior is a softmax over its members. Else None."""
    if not isinstance(program, FiniteProgram):
        return None

    def draw(key: Array) -> Array:
        member_key, position_key = jax.random.split(key)
        member = jax.random.categorical(member_key, _log_weights(posterior, program, history, round))
        return program.positions(jax.random.uniform(position_key))[member]

    return draw


def member_probabilities(
    posterior: Posterior, program: FiniteProgram, history: History, round: Round
) -> Float[Array, " members"]:
    """The posterior probability of every member of a finite class."""
    return jax.nn.softmax(_log_weights(posterior, program, history.padded_with(round.actions), round))


def _log_weights(
    posterior: Posterior, program: FiniteProgram, history: History, round: Round
) -> Float[Array, " members"]:
    def log_weight(coefficients: Array) -> Array:
        function = LinearFunction(coefficients)
        loss = posterior.loss(history, posterior.weighted_data(history), function)
        return posterior.bonus(function, history, round) - loss

    return jax.vmap(log_weight)(jnp.asarray(program.table))
