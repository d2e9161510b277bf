"""BlackJAX's algorithms as samplers, and samplers as BlackJAX's algorithms."""

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from blackjax.base import SamplingAlgorithm
from blackjax.util import run_inference_algorithm
from helpers.montecarlo import SEED, assert_mean, moments

from samplers import HMC, MALA, SAMPLERS, SMC, SVGD, InputError, Target, from_blackjax, to_blackjax

MEAN = {"a": np.array([1.0, -2.0]), "b": np.array(0.5)}
PRECISION = np.array([[4.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
FLAT_MEAN = np.array([1.0, -2.0, 0.5])
SECOND = np.linalg.inv(PRECISION)
CHAINS = 400


def flat_logdensity(x):
    gap = x - FLAT_MEAN
    return -gap @ PRECISION @ gap / 2


def logdensity(position):
    return flat_logdensity(jnp.concatenate([position["a"], position["b"][None]]))


TARGET = Target(flat_logdensity, lambda _: jnp.asarray(PRECISION))


def assert_gaussian(draws):
    """Independent draws (one per chain) have the target's moments."""
    rows, columns = np.triu_indices(3)
    expected = np.concatenate([np.zeros(3), SECOND[rows, columns]])
    assert_mean(moments(np.asarray(draws) - FLAT_MEAN), expected)


def last_draws(algorithm, position, num_steps):
    """The ends of independent chains by BlackJAX's own loop."""

    def chain(key):
        start = jax.tree.map(jnp.asarray, position)
        return run_inference_algorithm(key, algorithm, num_steps, initial_position=start)[0].position

    return jax.jit(jax.vmap(chain))(jax.random.split(jax.random.key(SEED), CHAINS))


def test_blackjax_loop_runs_our_sampler_on_a_dictionary():
    algorithm = to_blackjax(HMC(num_steps=5, step_size=0.5, preconditioner="none"), logdensity)
    assert isinstance(algorithm, SamplingAlgorithm)
    ends = last_draws(algorithm, {"a": np.zeros(2), "b": np.zeros(())}, 12)
    assert_gaussian(np.concatenate([ends["a"], ends["b"][:, None]], axis=1))


def test_round_trip_keeps_the_target():
    """Our MALA as BlackJAX's algorithm, that as our sampler, and that again in BlackJAX's loop."""

    def build(preconditioned, step_size):
        inner = MALA(num_steps=1, step_size=step_size, preconditioner="none", step_size_rule="constant")
        return to_blackjax(inner, preconditioned.logdensity)

    again = from_blackjax(build, num_steps=10, step_size=0.9, num_gradients=2)()
    algorithm = to_blackjax(again, TARGET)
    assert_gaussian(last_draws(algorithm, FLAT_MEAN + 1.0, 6))
    _, info = algorithm.step(jax.random.key(1), algorithm.init(jnp.asarray(FLAT_MEAN)))
    assert info.num_integration_steps == 10 * 2 + 1
    assert 0.3 < info.acceptance_rate <= 1
    assert not info.is_divergent


def ghmc(preconditioned, step_size):
    return blackjax.ghmc(preconditioned.logdensity, step_size, jnp.ones(3), 0.5, 0.25)


def random_walk(preconditioned, step_size):
    step = blackjax.mcmc.random_walk.normal(step_size * jnp.eye(3))
    return blackjax.additive_step_random_walk(preconditioned.logdensity, step)


BLACKJAX = {
    "barker": (lambda target, size: blackjax.barker(target.logdensity, size), 1.5, 40),
    "mala": (lambda target, size: blackjax.mala(target.logdensity, size), 0.5, 40),
    "hmc": (lambda target, size: blackjax.hmc(target.logdensity, size, jnp.ones(3), 4), 0.5, 12),
    "dynamic_hmc": (lambda target, size: blackjax.dynamic_hmc(target.logdensity, size, jnp.ones(3)), 0.4, 12),
    "nuts": (lambda target, size: blackjax.nuts(target.logdensity, size, jnp.ones(3)), 0.5, 8),
    "ghmc": (ghmc, 0.7, 60),
    "random_walk": (random_walk, 1.0, 200),
}


def ends_of(sampler, target):
    """The last of three draws of independent chains."""
    start = jnp.asarray(FLAT_MEAN) + 1.0

    def chain(key):
        state = sampler.init(key, lambda _: start)
        for k in jax.random.split(key, 3):
            state, draw = sampler.sample(k, target, state)
        return draw.position

    return jax.jit(jax.vmap(chain))(jax.random.split(jax.random.key(SEED), CHAINS))


@pytest.mark.slow
@pytest.mark.parametrize("name", BLACKJAX)
def test_blackjax_kernels_in_our_loop_keep_the_target(name):
    build, step_size, num_steps = BLACKJAX[name]
    assert_gaussian(ends_of(from_blackjax(build, num_steps=num_steps, step_size=step_size)(), TARGET))


def test_a_blackjax_algorithm_without_an_accept_step_keeps_its_step_size():
    """On a whitened Gaussian SGLD with step h has the variance 1 / (1 - h / 2). A metric invites step size adaptation,
    which must not take a missing acceptance rate for one of zero.
    """
    step = 0.3

    def build(preconditioned, step_size):
        sgld = blackjax.sgld(lambda x, _: jax.grad(preconditioned.logdensity)(x))
        return SamplingAlgorithm(sgld.init, lambda key, state: (sgld.step(key, state, None, step_size), None))

    sampler = from_blackjax(build, num_steps=30, step_size=step, optimal_acceptance_rate=None)()
    target = TARGET._replace(metric=lambda: jnp.asarray(PRECISION))
    draws = np.asarray(ends_of(sampler, target))
    assert_gaussian(FLAT_MEAN + (draws - FLAT_MEAN) * np.sqrt(1 - step / 2))


def test_particles_start_apart_and_need_a_key():
    for sampler in (SMC(num_particles=5), SVGD(num_particles=5)):
        algorithm = to_blackjax(sampler, TARGET)
        with pytest.raises(InputError, match="rng_key"):
            algorithm.init(jnp.zeros(3))
        state = algorithm.init(jnp.zeros(3), jax.random.key(0))
        particles = state.sampler.carry if isinstance(sampler, SVGD) else state.sampler.carry.positions
        assert len(np.unique(particles, axis=0)) == 5


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name, cls in SAMPLERS if cls.info.family not in ("exact", "control")]
)
def test_every_sampler_steps_in_blackjax_loop(name):
    target = TARGET
    if name in ("elliptical_slice", "polya_gamma"):
        from samplers import Gaussian

        target = TARGET._replace(
            gaussian=Gaussian(jnp.asarray(PRECISION), jnp.asarray(PRECISION @ FLAT_MEAN))
        )
    algorithm = to_blackjax(SAMPLERS.build(name), target)
    _, (states, _) = run_inference_algorithm(
        jax.random.key(SEED), algorithm, 3, initial_position=jnp.asarray(FLAT_MEAN)
    )
    assert states.position.shape == (3, 3)
    assert np.all(np.isfinite(states.position))
    assert np.all(np.abs(states.position - FLAT_MEAN) < 20)


@pytest.mark.parametrize(("sampler", "target"), [(MALA, TARGET), (MALA(), 3.0), ("mala", TARGET)])
def test_wrong_arguments_are_named(sampler, target):
    with pytest.raises(InputError, match="to_blackjax takes"):
        to_blackjax(sampler, target)
