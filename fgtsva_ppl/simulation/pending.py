"""Rewards that are observed later than their round: a ring of fixed size in the state of a run."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, Key

from fgtsva_ppl.types import Agent, Environment, Round


class Pending(NamedTuple):
    """A ring of rounds, each in the slot `number % slots`; or one round.

    Attributes:
        actions: Features of all arms; None where they are the same in all rounds.
        sigma: Of each round.
        action: The arm that was pulled.
        reward: Its reward.
        decision: What the decision left for the update; see `Agent.decision`.
        number: Number of the round.
        due: Number of the round at whose end the reward is observed; -1 if there is none to wait for.
    """

    actions: Float[Array, "*slots arms dim"] | None
    sigma: Float[Array, "*slots"]
    action: Int[Array, "*slots"]
    reward: Float[Array, "*slots"]
    decision: Any
    number: Int[Array, "*slots"]
    due: Int[Array, "*slots"]


def nothing_pending(environment: Environment, agent: Agent, state: Any) -> Pending | None:
    """The ring before the first round; None if every reward is observed at the end of its round."""
    if environment.feedback is None:
        return None
    slots, shape = environment.feedback.slots, environment.shape
    actions = None if shape.fixed_actions else jnp.zeros((slots, shape.arms, shape.dim))
    decision = jax.tree.map(lambda x: jnp.zeros((slots, *x.shape), x.dtype), agent.decision(state))
    none = jnp.zeros(slots, int)
    return Pending(actions, jnp.zeros(slots), none, jnp.zeros(slots), decision, none, none - 1)


class Played(NamedTuple):
    """A round that has just been played."""

    round: Round
    action: Int[Array, ""]
    reward: Float[Array, ""]
    number: Int[Array, ""]


def observe(
    environment: Environment, agent: Agent, key: Key[Array, ""], state: Any, pending: Pending, played: Played
) -> tuple[Any, Pending]:
    """Ends a round: its reward becomes pending, and all rewards that are due update the agent, the oldest first.

    Args:
        environment: Whose feedback says when rewards are observed.
        agent: The agent.
        key: The feedback's own key for this round.
        state: The agent's state after its decision.
        pending: The ring.
        played: The round.
    """
    feedback, (revealed, action, reward, t) = environment.feedback, played
    assert feedback is not None
    delay = feedback.draw(key, t)
    slot = t % feedback.slots
    entry = Pending(
        None if pending.actions is None else revealed.actions,
        revealed.sigma,
        action,
        reward,
        agent.decision(state),
        t,
        jnp.where(delay < feedback.slots, t + delay, -1),
    )
    pending = jax.tree.map(lambda ring, value: ring.at[slot].set(value), pending, entry)
    state = agent.end_round(state, agent.represent(state, agent.embed(revealed)))

    def is_due(carry: tuple[Any, Array]) -> Array:
        return jnp.any(carry[1] == t)

    def deliver(carry: tuple[Any, Array]) -> tuple[Any, Array]:
        state, due = carry
        oldest = jnp.argmin(jnp.where(due == t, pending.number, t + 1))
        actions, sigma, action, reward, decision, number, _ = jax.tree.map(lambda ring: ring[oldest], pending)
        late = Round(revealed.actions if actions is None else actions, sigma)
        state = agent.with_decision(state, decision)
        round = agent.represent(state, agent.embed(late))
        state = agent.update_late(state, round, action, reward, t - number)
        return state, jnp.where(jnp.arange(due.size) == oldest, -1, due)  # faster than a scatter

    waiting = state, pending.due
    if feedback.one_at_a_time:  # which a loop would be slower for
        delivered = deliver(waiting)
        state, due = jax.tree.map(lambda new, old: jnp.where(is_due(waiting), new, old), delivered, waiting)
    else:
        state, due = jax.lax.while_loop(is_due, deliver, waiting)
    return state, pending._replace(due=due)
