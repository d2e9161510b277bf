"""Shared by several test modules: a generic linear reward, small environments, and recorded rounds of an agent."""

from functools import lru_cache, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

from fgtsva_ppl import PSGLD, Contextual, Dense, Sparse, Thompson
from fgtsva_ppl.rewards import Reward
from fgtsva_ppl.types import Round
from samplers.settings import settings


@settings
class PlainLinear(Reward):
    """A linear reward as a generic program: it is not recognised as linear, so rows are stored."""

    def program(self, dim):
        def plain():
            theta = numpyro.sample("theta", dist.Normal(0, dim**-0.5).expand([dim]).to_event(1))
            return lambda features: features @ theta

        return plain


class Log(NamedTuple):
    """Rounds as they were played, and the next one as it was revealed."""

    actions: np.ndarray  # (rounds, arms, dim)
    sigma: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    next: Round

    @property
    def features(self) -> np.ndarray:
        return self.actions[np.arange(len(self.action)), self.action]


# For programs that compile longer than they run: half the compile time, the same mathematics.
quick_jit = partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})

# The samplers of the default study: tests over all samplers run for these without the mark slow
STUDIED = ("exact", "sgld", "psgld", "mala", "hmc", "nuts")


def rest_is_slow(cases, quick):
    """Parameters of a test, those that are not among the quick ones marked slow."""
    marked = []
    for case in cases:
        values = case if isinstance(case, tuple) else (case,)
        marked.append(pytest.param(*values, marks=() if case in quick else pytest.mark.slow))
    return marked


# Environments whose rewards are not linear, small, by name and settings; a table needs a file.
OTHERS = {
    "logistic": {"dim": 3, "arms": 4},
    "mlp": {"dim": 3, "arms": 4, "width": 2},
    "quadratic": {"dim": 3, "arms": 4},
    "wheel": {"encoding": "joint"},
    "digits": {"components": 2},
    "breast_cancer": {"components": 2},
    "wine": {"components": 2},
    "iris": {},
    **dict.fromkeys(("shuttle", "mushroom", "magic", "adult", "covertype", "mnist")),  # need a package
    "table": None,
    "openml": None,
}

ROUNDS = 12
ENVIRONMENTS = {
    "fixed": Dense(dim=3, scale=0.7),
    "fixed-sparse": Sparse(dim=3, p=0.4),
    "contextual": Contextual(dim=3, arms=4, p=0.4),
}


@lru_cache
def played(name: str) -> Log:
    """Rounds played by a Thompson agent."""
    environment, agent = ENVIRONMENTS[name], Thompson(sampler=PSGLD(num_steps=3)).for_horizon(ROUNDS)
    key = jax.random.key(7)

    def turn(state, t):
        environment_key, agent_key = (
            jax.random.fold_in(jax.random.fold_in(key, stream), t) for stream in (1, 2)
        )
        seen, outcome = environment.round(environment_key, instance, t)
        round = agent.embed(seen)
        state, action, _ = agent.act(agent_key, state, round)
        reward = outcome.rewards[action]
        return agent.update(state, round, action, reward), (seen.actions, seen.sigma, action, reward)

    instance = environment.start(key)
    start = agent.start(jax.random.fold_in(key, 3), environment.shape)
    _, log = jax.jit(partial(jax.lax.scan, turn))(start, jnp.arange(ROUNDS))
    last, _ = environment.round(jax.random.fold_in(key, 4), instance, jnp.asarray(ROUNDS))
    return Log(*map(np.asarray, log), jax.tree.map(jnp.asarray, last))


@lru_cache
def history_after(posterior, name: str, reward, spare: int = 3):
    """The history that an agent with this posterior and reward has after the played rounds, with spare room."""
    agent, log = Thompson(reward=reward, posterior=posterior), played(name)
    start = agent.start(jax.random.key(0), ENVIRONMENTS[name].shape)

    def turn(state, datum):
        actions, sigma, action, reward = datum
        return agent.update(state, agent.embed(Round(actions, sigma)), action, reward), None

    return jax.lax.scan(turn, agent.grow(start, ROUNDS + spare), tuple(log[:4]))[0].history
