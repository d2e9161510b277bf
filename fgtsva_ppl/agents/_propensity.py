"""The probability with which a Thompson agent plays the arm that it plays."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Int, Key

from fgtsva_ppl.posteriors.exact import member_probabilities
from fgtsva_ppl.rewards import FiniteProgram
from fgtsva_ppl.types import ActionInfo
from samplers import Exact

PROPENSITY_STREAM = 1000  # folded into the key of a round, so that the draw of the round stays as it is


def with_propensity(
    agent: Any,
    key: Key[Array, ""],
    state: Any,
    round: Any,
    arm: Int[Array, ""],
    info: ActionInfo,
) -> ActionInfo:
    """Adds the probability of the played arm, and its standard error.

    For exact draws from a finite class it is the posterior probability of the members under which the arm is best. Else
    n further draws from the same state estimate it by (1 + B) / (1 + n), where B of them choose the arm: the played
    draw counts as well, so that the estimate p is never zero and E[1 / p] = (1 - (1 - p)^(n+1)) / p is that of the true
    probability, up to the last factor.

    Args:
        agent: A `Thompson` agent.
        key: Of the round.
        state: Before the decision.
        round: As `embed` returned it.
        arm: The played arm.
        info: Of the decision.
    """
    program = round.model.program
    if isinstance(agent.sampler, Exact) and isinstance(program, FiniteProgram):
        members = member_probabilities(agent.full_posterior, program, state.history, round.round)
        best = jnp.argmax(jnp.asarray(program.table) @ round.round.actions.T, axis=1)
        return info._replace(
            propensity=jnp.sum(jnp.where(best == arm, members, 0.0)), propensity_error=jnp.zeros(())
        )

    def choose(key: Array) -> Array:
        draw = agent.draw(key, state, round)[1]
        finite = jnp.all(jnp.isfinite(draw.position))
        return agent.best(jnp.where(finite, draw.position, state.sampler.position), round)

    number = agent.propensity_draws
    keys = jax.random.split(jax.random.fold_in(key, PROPENSITY_STREAM), number)
    arms = jax.lax.map(choose, keys) if agent.sequential else jax.vmap(choose)(keys)
    probability = (1 + jnp.sum(arms == arm)) / (1 + number)
    return info._replace(
        propensity=probability, propensity_error=jnp.sqrt(probability * (1 - probability) / (1 + number))
    )
