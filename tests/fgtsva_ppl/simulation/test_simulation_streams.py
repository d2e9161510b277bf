"""Common random numbers: every agent sees the same runs, and draws with its own keys."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fgtsva_ppl import (
    MALA,
    PSGLD,
    TS,
    Contextual,
    Dense,
    Sparse,
    Thompson,
    simulate,
)
from fgtsva_ppl.agents import LinTS
from fgtsva_ppl.types import ActionInfo, Agent
from samplers.settings import nested, settings


@settings
class Watcher(Agent):
    """Lets another agent draw, but plays the arms in turn and reports what it was shown."""

    inner: Any = nested()

    @property
    def sequential(self):
        return self.inner.sequential

    def for_horizon(self, rounds):
        return Watcher(self.inner.for_horizon(rounds))

    def start(self, key, shape):
        return self.inner.start(key, shape), jnp.zeros(()), jnp.zeros((), int)

    def grow(self, state, capacity):
        return self.inner.grow(state[0], capacity), *state[1:]

    def act(self, key, state, seen):
        inner, drawn, _ = self.inner.act(key, state[0], self.inner.embed(seen))
        arms = seen.actions.shape[0]
        mark = jnp.sum(seen.actions * jnp.arange(1.0, seen.actions.size + 1).reshape(seen.actions.shape))
        report = ActionInfo(seen.sigma, mark, state[1], drawn)
        return (inner, *state[1:]), state[2] % arms, report

    def update(self, state, seen, action, reward):
        return self.inner.update(state[0], self.inner.embed(seen), action, reward), reward, state[2] + 1


@pytest.mark.parametrize(
    "environment", [pytest.param(Dense(dim=3), marks=pytest.mark.slow), Contextual(dim=3, arms=4, p=0.5)]
)
def test_all_agents_see_the_same_truth_actions_variances_and_noise(environment):
    inner = [
        Thompson(sampler=PSGLD(num_steps=2)),
        Thompson(posterior=TS(), sampler=MALA(num_steps=3)),
        LinTS(),
    ]
    first, *others = (simulate(environment, Watcher(agent), rounds=12, runs=3) for agent in inner)
    # sigma, the arms, the reward of the round before, and regrets: so theta* and the noise as well
    for name in ("acceptance_rate", "num_divergent", "num_gradients", "regret"):
        for other in others:
            np.testing.assert_allclose(getattr(other, name), getattr(first, name), rtol=1e-12, atol=1e-14)
    assert (
        np.unique(first.num_gradients).size == 1 + 3 * 11
    )  # zeros before the first round, then no two rewards alike
    drawn = [simulation.num_resets for simulation in (first, *others)]
    assert all(np.any(other != drawn[0]) for other in drawn[1:])  # while the agents themselves differ


@settings
class Keyed(Agent):
    """An agent that compares the keys of its rounds with those it could have split off at the start."""

    def start(self, key, shape):
        return jnp.concatenate(
            [jax.random.key_data(key)[None], jax.random.key_data(jax.random.split(key, 40))]
        )

    def act(self, key, state, seen):
        own = jnp.concatenate(
            [jax.random.key_data(key)[None], jax.random.key_data(jax.random.split(key, 40))]
        )
        seen_before = jnp.any(jnp.all(own[:, None] == state[None], axis=-1))
        zero = jnp.zeros(())
        return state, jnp.zeros((), int), ActionInfo(zero, zero, zero, seen_before)

    def update(self, state, seen, action, reward):
        return state


def test_no_round_draws_with_a_key_of_the_start():
    assert not np.any(simulate(Sparse(dim=2), Keyed(), rounds=30, runs=2).num_resets)


@settings
class KeyAsNoise(Sparse):
    """Reveals a number that follows from the environment's key of the round."""

    def round(self, key, instance, t):
        seen, outcome = super().round(key, instance, t)
        return seen._replace(sigma=jax.random.uniform(key)), outcome


@settings
class KeyComparer(Keyed):
    """Reports how far the same number of its own key is from the one that the environment revealed."""

    def act(self, key, state, seen):
        zero = jnp.zeros(())
        return state, jnp.zeros((), int), ActionInfo(jax.random.uniform(key) - seen.sigma, zero, zero, zero)


def test_agents_and_environments_draw_with_different_keys():
    """Else an agent's draws would depend on the noise, and their regret on the way the noise is drawn."""
    difference = simulate(KeyAsNoise(dim=2), KeyComparer(), rounds=30, runs=2).acceptance_rate
    assert np.all(difference != 0)
    assert np.unique(difference).size == difference.size
