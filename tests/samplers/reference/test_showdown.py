"""Another project's samplers, reproduced with what is wrong in them."""

import jax
import jax.numpy as jnp
import numpy as np
from helpers.montecarlo import SEED

from samplers import Target
from samplers.base import SamplerState
from samplers.reference.showdown import ShowdownLMC, ShowdownMALA

CURVATURE = 2.0  # of minus the log-density: the exact variance is 1/2


def variance(sampler, carry, num_chains=2000):
    target = Target(lambda x: -CURVATURE * jnp.sum(x**2) / 2)
    start = SamplerState(jnp.ones(1), jnp.asarray(carry))
    keys = jax.random.split(jax.random.key(SEED), num_chains)
    return np.var(jax.vmap(lambda key: sampler.sample(key, target, start)[0].position[0])(keys))


def test_langevin_steps_sample_at_their_own_temperature():
    """With h = step_size / t: variance temperature / curvature / (1 - h curvature / 2)."""
    h = 0.05
    found = variance(ShowdownLMC(num_steps=200, step_size=h * 4, temperature=0.3), 4)
    expected = 0.3 / CURVATURE / (1 - h * CURVATURE / 2)
    assert abs(found / expected - 1) < 6 * np.sqrt(2 / 2000)


def test_the_accept_step_does_not_repair_the_variance():
    """A right accept step at temperature 1 would give 1/2."""
    found = variance(ShowdownMALA(num_steps=200, step_size=1.0, temperature=1.0), 2)
    assert found < 0.6 / CURVATURE


def test_nothing_moves_in_the_first_round():
    target = Target(lambda x: -jnp.sum(x**2))
    state, draw = ShowdownLMC().sample(jax.random.key(0), target, SamplerState(jnp.ones(2), jnp.asarray(1)))
    assert np.array_equal(draw.position, np.ones(2))
    assert int(draw.num_gradients) == 0
    assert int(state.carry) == 2
