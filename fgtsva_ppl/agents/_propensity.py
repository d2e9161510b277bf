"""The probability with which a Thompson agent plays the arm that it plays."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.scipy.special import log_ndtr
from jaxtyping import Float, Int, Key

from fgtsva_ppl.posteriors.exact import member_probabilities
from fgtsva_ppl.rewards import FiniteProgram
from fgtsva_ppl.types import ActionInfo
from samplers import Exact, Target
from samplers.errors import InputError

PROPENSITY_STREAM = 1000  # folded into the key of a round, so that the draw of the round stays as it is
REPLICAS, POSTERIOR = SOURCES = ("replicas", "posterior")


def with_propensity(
    agent: Any,
    key: Key[Array, ""],
    state: Any,
    round: Any,
    arm: Int[Array, ""],
    info: ActionInfo,
) -> ActionInfo:
    """Adds the probability of the played arm, and its standard error.

    Under exact draws it is known for a finite class, the posterior probability of the members under which the arm is
    best, and for two arms with linear rewards, a normal probability. Else n further draws from the same state estimate
    it by (1 + B) / (1 + n), where B of them choose the arm: the played draw counts as well, so that the estimate p is
    never zero and E[1 / p] = (1 - (1 - p)^(n+1)) / p is that of the true probability, up to the last factor.

    Args:
        agent: A `Thompson` agent.
        key: Of the round.
        state: Before the decision.
        round: As `embed` returned it.
        arm: The played arm.
        info: Of the decision.
    """
    from_posterior = agent.propensity_from == POSTERIOR
    target = agent.target(state, round)
    if isinstance(agent.sampler, Exact) or from_posterior:
        known = _exact(agent, state, round, target)
        if known is not None:
            return info._replace(propensity=known[arm], propensity_error=jnp.zeros(()))
    number = agent.propensity_draws
    own = jax.random.fold_in(key, PROPENSITY_STREAM)
    if from_posterior:
        if target.exact_draws is None:
            raise InputError(
                "agent.propensity_from=posterior needs exact draws: linear rewards or a finite class; "
                "propensity_from=replicas needs none"
            )
        best: Callable[[Array], Array] = jax.vmap(lambda position: agent.best(position, round))
        arms = best(target.exact_draws(own, number))
    else:
        arms = _replicas(agent, jax.random.split(own, number), state, round)
    probability = (1 + jnp.sum(arms == arm)) / (1 + number)
    return info._replace(
        propensity=probability, propensity_error=jnp.sqrt(probability * (1 - probability) / (1 + number))
    )


def _replicas(agent: Any, keys: Key[Array, " draws"], state: Any, round: Any) -> Int[Array, " draws"]:
    """The arms of further draws from the same state."""

    def choose(key: Array) -> Array:
        draw = agent.draw(key, state, round)[1]
        finite = jnp.all(jnp.isfinite(draw.position))
        return agent.best(jnp.where(finite, draw.position, state.sampler.position), round)

    return jax.lax.map(choose, keys) if agent.sequential else jax.vmap(choose)(keys)


def _exact(agent: Any, state: Any, round: Any, target: Target) -> Float[Array, " arms"] | None:
    """The probability of each arm under exact draws, where it has a closed form; else None."""
    program, actions = round.model.program, round.round.actions
    if isinstance(program, FiniteProgram):
        members = member_probabilities(agent.full_posterior, program, state.history, round.round)
        best = jnp.argmax(jnp.asarray(program.table) @ actions.T, axis=1)
        return jnp.zeros(len(actions)).at[best].add(members)
    if len(actions) == 2 and target.tilt is not None and target.moments is not None:
        return _of_two_arms(target)
    return None


def _of_two_arms(target: Target) -> Float[Array, " 2"]:
    """P(arm is best) under a tilted Gaussian with two arms.

    Where arm i is best the density is that of N(m + lambda S a_i, S) times exp(lambda <a_i, m> +
    lambda^2 a_i'S a_i / 2), up to a constant, so that P(i) is that factor times P(<a_i - a_j, x> > 0), normalised.
    """
    assert target.tilt is not None
    assert target.moments is not None
    (actions, scale), moments = target.tilt, target.moments()
    products = actions @ moments.covariance @ actions.T
    means, variances = actions @ moments.mean, jnp.diagonal(products)
    gap = means - means[::-1] + scale * (variances - products[0, 1])
    deviation = jnp.sqrt(jnp.maximum(variances[0] + variances[1] - 2 * products[0, 1], 0.0))
    same = deviation == 0  # equal arms: ties go to the first
    inside = log_ndtr(gap / jnp.where(same, 1.0, deviation))
    probabilities = jax.nn.softmax(scale * means + scale**2 * variances / 2 + inside)
    return jnp.where(same, jnp.array([1.0, 0.0]), probabilities)
