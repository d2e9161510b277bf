"""Replay evaluation: an agent plays through a log, and learns from the rounds in which it agrees with it."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from fgtsva_ppl.evaluation.estimators import Estimate
from fgtsva_ppl.evaluation.log import Log
from fgtsva_ppl.types import Agent, Round, Shape
from samplers.errors import InputError

KEEP, AGENT = range(2)  # streams of randomness


class Replay(NamedTuple):
    """What an agent earned in a log."""

    estimate: Estimate
    matched: int  # rounds in which it played the logged arm and that were kept
    rounds: int  # of the log


def replay(agent: Agent, log: Log, *, sigma: float = 0.5, seed: int = 0) -> Replay:
    """Plays an agent through a log (Li, Chu, Langford & Wang 2011).

    In each logged round the agent chooses; if it chooses the logged arm, it observes the reward, else the round is
    skipped. Unbiased if the log was played uniformly. Else a matching round is kept with probability
    min_i p_i / p_i, so that every arm is kept equally often.

    Args:
        agent: The agent.
        log: With propensities.
        sigma: Standard deviation of the rewards, for agents that use it; 1/2 bounds that of a reward in [0, 1].
        seed: Of the agent's choices, and of which rounds are kept.
    """
    propensity = log.propensity
    if not np.all(np.isfinite(propensity)) or np.any(propensity <= 0):
        raise InputError(
            "replay needs the propensity of every logged round, above 0: only then are matching rounds a fair sample"
        )
    shape = Shape(log.arms, log.features.shape[-1], fixed_actions=False, linear=True)
    agent = agent.for_horizon(len(log.actions))
    keep = np.min(propensity) / propensity
    matched = np.asarray(
        _play(agent, shape, log, jnp.asarray(keep), jnp.asarray(sigma), jax.random.key(seed))
    )
    rewards = log.rewards[matched]
    number = int(matched.sum())
    if number < 2:
        raise InputError(
            f"replay: the agent agreed with the log in {number} of {len(matched)} rounds, too few"
        )
    error = float(np.std(rewards, ddof=1) / np.sqrt(number))
    return Replay(Estimate(float(np.mean(rewards)), error), number, len(matched))


def _play(agent: Agent, shape: Shape, log: Log, keep: Array, sigma: Array, key: Array) -> Array:
    rounds = len(log.actions)
    fixed = log.features.strides[0] == 0  # the same features in all rounds, which are not copied
    features = jnp.asarray(log.features[0] if fixed else log.features)
    state = agent.grow(agent.start(jax.random.fold_in(key, rounds), shape), rounds)
    columns = jnp.asarray(log.actions), jnp.asarray(log.rewards), keep
    return _scan(agent, state, features, columns, sigma, key, fixed=fixed)


@partial(jax.jit, static_argnames="fixed")
def _scan(
    agent: Agent,
    state: object,
    features: Array,
    columns: tuple[Array, Array, Array],
    sigma: Array,
    key: Array,
    *,
    fixed: bool,
) -> Array:
    def step(state: object, row: tuple[Array, tuple[Array, Array, Array]]) -> tuple[object, Array]:
        t, (action, reward, keep) = row
        own = jax.random.fold_in(key, t)
        round = agent.represent(state, agent.embed(Round(features if fixed else features[t], sigma)))
        acted, arm, _ = agent.act(jax.random.fold_in(own, AGENT), state, round)
        kept = jax.random.uniform(jax.random.fold_in(own, KEEP)) < keep
        match = (arm == action) & kept
        updated = agent.update(acted, round, action, reward)
        return jax.tree.map(lambda new, old: jnp.where(match, new, old), updated, state), match

    return jax.lax.scan(step, state, (jnp.arange(columns[0].size), columns))[1]
