"""Overdispersed restarts: their distribution, what a sampler keeps, and nested R-hat of a target with two modes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.montecarlo import SEED, assert_mean, moments
from helpers.played_rounds import quick_jit, rest_is_slow
from scipy import stats

from fgtsva_ppl import MALA
from fgtsva_ppl.diagnostics.restarts import overdispersed_start, restart, search_mode
from samplers import SAMPLERS, SVGD, Gaussian, Target
from samplers.diagnostics import nested_rhat

PRECISION = np.array([[4.0, 1.0], [1.0, 0.5]])
MODE = np.array([1.0, -2.0])


def gaussian_prior(key):
    return 3 * jax.random.normal(key, (2,))


def test_starts_have_four_times_the_variance_and_superchains_share_three_quarters_of_it():
    target = Target(lambda x: -(x - MODE) @ PRECISION @ (x - MODE) / 2, lambda x: jnp.asarray(PRECISION))

    def superchain(key):
        shared_key, *keys = jax.random.split(key, 3)
        search = search_mode(shared_key, target, gaussian_prior)
        start = overdispersed_start(shared_key, target, gaussian_prior, search)
        return jnp.stack([start(key) for key in keys])

    starts = np.asarray(jax.jit(jax.vmap(superchain))(jax.random.split(jax.random.key(SEED), 20_000)))
    white = (starts - MODE) @ np.linalg.cholesky(PRECISION)
    for one in (white[:, 0], white[:, 1]):
        assert_mean(moments(one), moments(np.zeros((1, 2)))[0] + 4 * np.array([0, 0, 1, 0, 1]))
    assert_mean(white[:, 0] * white[:, 1], 3.0)


def test_a_restarted_chain_keeps_its_adaptation_and_a_population_does_not():
    target = Target(lambda x: -(x @ x) / 2, lambda x: jnp.eye(2))
    search = search_mode(jax.random.key(1), target, gaussian_prior)
    chain = MALA(adaptation="dual_averaging")
    state = chain.init(jax.random.key(0), gaussian_prior)
    state = state._replace(carry=state.carry._replace(num_targets=jnp.asarray(7)))
    restarted = restart(jax.random.key(1), chain, state, target, gaussian_prior, search)
    assert int(restarted.carry.num_targets) == 7
    assert not np.allclose(restarted.position, state.position)
    population = SVGD()
    state = population.init(jax.random.key(0), gaussian_prior)
    restarted = restart(jax.random.key(1), population, state, target, gaussian_prior, search)
    assert not np.allclose(restarted.carry, state.carry)


DISTANCE = 5.0


def two_modes(x):
    """Half N(a, I) and half N(-a, I), a = (5, 0): no chain moves from one to the other."""
    return jnp.logaddexp(
        -jnp.sum((x - jnp.array([DISTANCE, 0])) ** 2) / 2, -jnp.sum((x + jnp.array([DISTANCE, 0])) ** 2) / 2
    )


def exact_draw(key):
    side, noise = jax.random.split(key)
    sign = jnp.where(jax.random.bernoulli(side), 1.0, -1.0)
    return jnp.array([sign * DISTANCE, 0]) + jax.random.normal(noise, (2,))


SUPERCHAINS, CHAINS = 16, 16


@quick_jit
def superchain_draws(sampler, key):
    """Draws of a sampler that is restarted from several points, after it has been at one mode."""
    unit = Gaussian(jnp.eye(2), jnp.zeros(2))
    target = Target(two_modes, lambda x: jnp.eye(2), unit, exact_draw, prior=gaussian_prior)
    state = sampler.init(key, lambda key: jnp.array([DISTANCE, 0]))
    starts_key, chains_key = jax.random.split(key)

    def superchain(keys):
        search = search_mode(keys[0], target, gaussian_prior)
        start = restart(keys[0], sampler, state, target, gaussian_prior, search)
        chain_keys = jax.random.split(keys[1], CHAINS)

        def sample(key):
            return sampler.sample(key, target, start)[1].position

        return jax.lax.map(sample, chain_keys) if sampler.sequential else jax.vmap(sample)(chain_keys)

    keys = (jax.random.split(starts_key, SUPERCHAINS), jax.random.split(chains_key, SUPERCHAINS))
    return jax.lax.map(superchain, jnp.stack(keys, axis=1))


# All but those that need a Gaussian factor, which a target with two modes does not have.
RESTARTED = [name for name, _ in SAMPLERS if name not in ("elliptical_slice", "polya_gamma")]


@pytest.mark.parametrize("name", rest_is_slow(RESTARTED, ("exact", "laplace", "svgd", "mala")))
def test_nested_rhat_detects_samplers_that_stay_in_the_mode_where_they_started(name):
    """For populations and fitted approximations as well as for chains; independent exact draws stay nowhere."""
    value = nested_rhat(np.asarray(superchain_draws(SAMPLERS[name](), jax.random.key(SEED)))[:, :, None])
    if name in ("exact", "control"):
        assert value < np.sqrt(1 + stats.f.isf(1e-6, SUPERCHAINS - 1, SUPERCHAINS * (CHAINS - 1)) / CHAINS)
    else:
        # B/W is 25 if they are split evenly, and 6 if only one of sixteen is on the other side
        assert value > 2
