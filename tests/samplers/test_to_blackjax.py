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


@pytest.mark.slow
def test_blackjax_kernels_in_our_loop_keep_the_target():
    def build(preconditioned, step_size):
        return blackjax.barker(preconditioned.logdensity, step_size)

    sampler = from_blackjax(build, num_steps=40, step_size=1.5)()
    start = jnp.asarray(FLAT_MEAN) + 1.0
    keys = jax.random.split(jax.random.key(SEED), CHAINS)

    def chain(key):
        return sampler.sample(key, TARGET, sampler.init(key, lambda _: start))[1].position

    assert_gaussian(jax.jit(jax.vmap(chain))(keys))


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
