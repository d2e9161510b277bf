"""Chains that go non-finite are counted and reset to the last finite position."""

import jax
import jax.numpy as jnp
import numpy as np
from helpers.montecarlo import assert_mean

from fgtsva_ppl import (
    Sparse,
    Thompson,
    simulate,
)
from samplers import Draw, Sampler, SamplerState
from samplers.settings import settings, traced_float


@settings
class Flaky(Sampler):
    """Draws from a normal distribution, and NaN at random times."""

    rate: float = traced_float(default=0.3, ge=0, le=1, doc="how often")

    def init(self, key, start):
        return SamplerState(start(key), jnp.zeros(()))

    def sample(self, key, target, state):
        where, whether = jax.random.split(key)
        fails = jax.random.uniform(whether) < self.rate
        position = jax.random.normal(where, state.position.shape)
        broken = jnp.where(fails, position.at[0].set(jnp.nan), position)  # one coordinate is enough
        tuning = jnp.where(fails, jnp.nan, state.carry + 1)
        draw = Draw(broken, jnp.asarray(jnp.nan), jnp.asarray(0), jnp.asarray(0))
        return SamplerState(broken, tuning), draw


def test_non_finite_chains_are_counted_and_reset():
    agent, environment = Thompson(sampler=Flaky()).for_horizon(10), Sparse(dim=3)
    instance = environment.start(jax.random.key(0))
    state = agent.start(jax.random.key(1), environment.shape)
    act = jax.jit(agent.act)
    num_resets = 0
    for t in range(40):
        seen, _ = environment.round(jax.random.key(t), instance, jnp.asarray(t))
        before = state.sampler
        _, draw = agent.sampler.sample(jax.random.key(t), None, before)
        state, action, info = act(jax.random.key(t), state, agent.embed(seen))
        fails = not np.all(np.isfinite(draw.position))
        assert bool(info.num_resets) == fails
        num_resets += fails
        expected = before.position if fails else draw.position
        np.testing.assert_array_equal(state.sampler.position, expected)
        assert state.sampler.carry == (before.carry if fails else before.carry + 1)
        assert action == np.argmax(seen.actions @ expected)
    assert 0 < num_resets < 40


def test_number_of_resets_is_in_the_results():
    result = simulate(Sparse(dim=3), Thompson(sampler=Flaky()), rounds=40, runs=50)
    assert_mean(result.num_resets.mean(axis=1), 0.3)
    assert np.all(np.isfinite(result.regret))
    sound = simulate(Sparse(dim=3), Thompson(sampler=Flaky(rate=0.0)), rounds=40, runs=50)
    assert not np.any(sound.num_resets)


def test_a_chain_that_is_never_finite_stays_at_its_start():
    result = simulate(Sparse(dim=3), Thompson(sampler=Flaky(rate=1.0)), rounds=10, runs=25)
    assert np.all(result.num_resets)
    assert np.all(result.action == result.action[:, :1])
    assert np.unique(result.action).size > 1  # which is a draw from the prior, not arm 0
