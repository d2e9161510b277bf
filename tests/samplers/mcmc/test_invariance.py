"""Chains that start exactly in the target stay in it, at the right temperature.

Statistical tests: independent chains, false alarms at 1e-6 each. With 20,000 chains in five dimensions the mean of the
squared Mahalanobis distance has a standard error of 0.45%: a temperature that is 5% wrong is eleven of them off.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.montecarlo import SEED, assert_mean, z_bound, z_scores
from helpers.played_rounds import rest_is_slow

from samplers import SAMPLERS, Gaussian, SamplerState, Target

DIM, CHAINS, ROUNDS = 5, 20_000, 2
MEAN = np.array([0.3, -0.2, 0.1, 0.0, 2.0])
ROOT = np.linalg.cholesky(np.diag([1.0, 2.0, 5.0, 10.0, 300.0]) + 0.5)  # of the precision


def target(temperature: float = 1.0) -> Target:
    """A correlated Gaussian; the temperature is that of the log-density alone, nothing else knows of it."""
    precision = jnp.asarray(ROOT @ ROOT.T)

    def logdensity(x):
        return -jnp.sum((jnp.asarray(ROOT).T @ (x - MEAN)) ** 2) / (2 * temperature)

    return Target(logdensity, lambda _: precision, Gaussian(precision, precision @ MEAN))


def squared_distances(sampler, temperature: float = 1.0) -> np.ndarray:
    """Squared Mahalanobis distance over the dimension, of the last draw of each chain: 1 on average in the target."""

    @jax.jit
    def chains(keys):
        def chain(key):
            start, *rest = jax.random.split(key, 1 + ROUNDS)
            noise = jax.random.normal(start, (DIM,))
            exact = MEAN + jax.scipy.linalg.solve_triangular(jnp.asarray(ROOT).T, noise, lower=False)
            state = sampler.init(key, lambda _: exact)
            for round_key in rest:
                state, _ = sampler.sample(round_key, target(temperature), state)
            return jnp.mean((jnp.asarray(ROOT).T @ (state.position - MEAN)) ** 2)

        return jax.vmap(chain)(keys)

    return np.asarray(chains(jax.random.split(jax.random.key(SEED), CHAINS)))


ADJUSTED = ("mala", "barker", "hmc", "ghmc", "adjusted_mclmc", "rmh")


@pytest.mark.parametrize("name", rest_is_slow(ADJUSTED, ("mala", "ghmc")))
def test_chains_that_start_in_the_target_stay_in_it(name):
    assert_mean(squared_distances(SAMPLERS.build(name)), 1.0)


def test_a_temperature_that_is_five_percent_wrong_is_detected():
    """Negative control: the same check fails, and by about as much as it should."""
    distances = squared_distances(SAMPLERS.build("ghmc"), temperature=1.05)
    assert z_scores(distances, np.asarray(1.0)) > z_bound(1)
    assert_mean(distances, 1.05)


def test_smc_keeps_the_log_densities_of_the_particles_it_has_moved():
    """They are the denominators of the next weights: those from before the moves would make the weights wrong."""
    smc = SAMPLERS.build("smc")
    state = smc.init(jax.random.key(0), lambda key: jax.random.normal(key, (DIM,)))
    before = state.carry.positions
    state, _ = jax.jit(lambda state: smc.sample(jax.random.key(1), target(), state))(state)
    assert isinstance(state, SamplerState)
    assert not np.allclose(state.carry.positions, before)
    expected = jax.vmap(target().logdensity)(state.carry.positions)
    np.testing.assert_allclose(state.carry.logdensities, expected, rtol=1e-12)
