"""Requirements of every registered sampler. A new sampler gets a row in MATRIX."""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.played_rounds import STUDIED, quick_jit, rest_is_slow

from samplers import (
    SAMPLERS,
    SGLD,
    Draw,
    Gaussian,
    Kernel,
    MarkovSampler,
    Sampler,
    SamplerInfo,
    SamplerState,
    Target,
    as_kernel,
    from_blackjax,
)
from samplers._fast_normal import normal
from samplers.base import ASYMPTOTIC, BIASED, EXACT
from samplers.mcmc.mala import MALA
from samplers.settings import settings


class Row(NamedTuple):
    exactness: str
    num_gradients: int | None  # of a draw with default settings; None where it depends on the draw


MATRIX = {
    "exact": Row(EXACT, 0),
    "sgld": Row(BIASED, 20),
    "psgld": Row(BIASED, 20),
    "sghmc": Row(BIASED, 50),
    "sgnht": Row(BIASED, 51),
    "ulmc": Row(BIASED, 20),
    "mclmc": Row(BIASED, 42),
    "mala": Row(ASYMPTOTIC, 21),
    "barker": Row(ASYMPTOTIC, 22),
    "hmc": Row(ASYMPTOTIC, 21),
    "dynamic_hmc": Row(ASYMPTOTIC, None),
    "ghmc": Row(ASYMPTOTIC, 21),
    "nuts": Row(ASYMPTOTIC, None),
    "adjusted_mclmc": Row(ASYMPTOTIC, 32),
    "rmh": Row(ASYMPTOTIC, 1),
    "elliptical_slice": Row(ASYMPTOTIC, 0),
    "slice": Row(ASYMPTOTIC, 1),
    "polya_gamma": Row(ASYMPTOTIC, 0),
    "smc": Row(ASYMPTOTIC, 120),
    "svgd": Row(BIASED, 200),
    "laplace": Row(BIASED, 11),
    "pathfinder": Row(BIASED, None),
    "meanfield_vi": Row(BIASED, 104),
    "fullrank_vi": Row(BIASED, 104),
    "control": Row(BIASED, 0),
    "showdown_lmc": Row(BIASED, None),
    "showdown_mala": Row(BIASED, None),
}

DIM, ROUNDS = 3, 4
MEAN = jnp.array([0.5, -0.3, 0.1])


def target(t, fall):
    """A Gaussian that contracts from round to round, and falls by a constant which no distribution depends on."""
    precision = (1.0 + t) * jnp.eye(DIM) + 0.5
    root = jnp.linalg.cholesky(precision)

    def exact(key):
        return MEAN + jax.scipy.linalg.solve_triangular(root.T, jax.random.normal(key, (DIM,)), lower=False)

    def logdensity(x):
        return -(x - MEAN) @ precision @ (x - MEAN) / 2 - fall * t

    def prior(key):
        return jax.random.normal(key, (DIM,))

    gaussian = Gaussian(precision, precision @ MEAN)
    return Target(logdensity, lambda _: precision, gaussian, exact, prior=prior)


@quick_jit
def play(sampler, fall):
    """One run of a few rounds, the state carried along."""

    def body(state, t):
        return sampler.sample(jax.random.fold_in(jax.random.key(1), t), target(t, fall), state)

    start = sampler.init(jax.random.key(0), lambda key: jax.random.normal(key, (DIM,)))
    return jax.lax.scan(body, start, jnp.arange(ROUNDS))[1]


def test_every_registered_sampler_is_in_the_matrix():
    assert SAMPLERS.names() == list(MATRIX)


@pytest.mark.parametrize("name", MATRIX)
def test_info_matches_the_matrix(name):
    info = SAMPLERS[name].info
    assert all(isinstance(line, str) and line for line in info)
    assert info.exactness.startswith(MATRIX[name].exactness)


@settings
class Own(Sampler):
    """A sampler that defines only what is required."""

    def sample(self, key, target, state):
        position = target.exact(key)
        return SamplerState(position), Draw.without_acceptance(position)


def test_a_sampler_has_to_define_sample_only():
    assert Own.info.exactness == "unknown"
    assert not Own.sequential
    own, key = Own(), jax.random.key(0)
    assert (own.batch_size, own.adapts_between_rounds, own.expected_gradients) == (0, False, 0)
    state = own.init(key, lambda key: jax.random.normal(key, (DIM,)))
    assert own.trace(key, target(1, 0.0), state, 5).position.shape == (5, DIM)
    restarted = own.restart(key, state, lambda _: jnp.zeros(DIM))
    np.testing.assert_array_equal(restarted.position, jnp.zeros(DIM))


@pytest.mark.parametrize("name", [name for name, row in MATRIX.items() if row.num_gradients])
def test_expected_gradients_are_nearly_those_of_a_draw(name):
    """Within what is spent besides transitions; kernels without gradients count values instead."""
    expected = SAMPLERS.build(name).expected_gradients
    if "gradient-free" not in SAMPLERS[name].info.family:
        assert 0.8 * MATRIX[name].num_gradients <= expected <= MATRIX[name].num_gradients
    assert expected > 0


@pytest.mark.parametrize("name", rest_is_slow(MATRIX, (*STUDIED, "ghmc", "smc")))
def test_moving_target_leaves_nothing_stale(name):
    """A constant that falls by 50 a round changes no draw. A cached log-density would: see the next test."""
    sampler = SAMPLERS.build(name)
    fixed, falling = play(sampler, 0.0), play(sampler, 50.0)
    assert np.all(np.isfinite(fixed.position))
    np.testing.assert_allclose(falling.position, fixed.position, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(falling.acceptance_rate, fixed.acceptance_rate, rtol=1e-5)
    if (gradients := MATRIX[name].num_gradients) is not None:
        assert np.all(fixed.num_gradients == gradients)
    assert np.all(fixed.num_gradients >= 0)
    assert np.sum(fixed.num_divergent) == 0


@settings
class Stale(MALA):
    """What the test above must catch: the kernel's state, log-density included, goes on to the next target."""

    def init(self, key, start):
        fresh = self.kernel(self.precondition(target(0, 0.0), jnp.zeros(DIM))).init(key, start(key))
        return SamplerState(fresh.position, fresh)

    def sample(self, key, now, state):
        kernel = self.kernel(self.precondition(now, state.position))
        end, _ = jax.lax.scan(lambda carry, k: kernel.step(k, carry), state.carry, jax.random.split(key, 20))
        draw = super().sample(key, now, state)[1]
        return SamplerState(end.position, end), draw._replace(position=end.position)


def test_a_stale_sampler_is_caught():
    fixed, falling = play(Stale(), 0.0), play(Stale(), 50.0)
    assert not np.allclose(falling.position, fixed.position)


@pytest.mark.parametrize(
    "name", rest_is_slow([n for n in MATRIX if issubclass(SAMPLERS[n], MarkovSampler)], STUDIED)
)
def test_a_draw_is_the_end_of_its_chain(name):
    """sample and trace are the same chain."""
    sampler = SAMPLERS.build(name)

    @quick_jit
    def both(key):
        state = sampler.init(key, lambda k: jax.random.normal(k, (DIM,)))
        chain = sampler.trace(key, target(1, 0.0), state, sampler.num_steps)
        return chain, sampler.sample(key, target(1, 0.0), state)[1]

    chain, draw = both(jax.random.key(5))
    np.testing.assert_allclose(chain.position[-1], draw.position, rtol=1e-9)
    assert chain.position.shape == (sampler.num_steps, DIM)


@pytest.mark.parametrize(
    "name", rest_is_slow([n for n in MATRIX if not issubclass(SAMPLERS[n], MarkovSampler)], ["exact", "smc"])
)
def test_trace_has_num_draws_draws(name):
    sampler = SAMPLERS.build(name)

    @quick_jit
    def chain(key):
        state = sampler.init(key, lambda k: jax.random.normal(k, (DIM,)))
        return sampler.trace(key, target(1, 0.0), state, 7)

    draws = chain(jax.random.key(5))
    assert draws.position.shape == (7, DIM)
    assert len(np.unique(draws.position[:, 0])) == 7
    assert all(leaf.shape[0] == 7 for leaf in draws)


COUNTED = {
    "sgld": {"num_steps": 2},
    "sghmc": {"num_steps": 2, "num_integration_steps": 2},
    "sgnht": {"num_steps": 2},
    "ulmc": {"num_steps": 2},
    "mclmc": {"num_steps": 2},
    "mala": {"num_steps": 2},
    "barker": {"num_steps": 2},
    "hmc": {"num_steps": 2, "num_integration_steps": 3},
    "dynamic_hmc": {"num_steps": 2},
    "ghmc": {"num_steps": 2},
    "nuts": {"num_steps": 2},
    "adjusted_mclmc": {"num_steps": 2, "num_integration_steps": 2},
    "rmh": {"num_steps": 2},
    "laplace": {"num_iterations": 2},
    "smc": {"num_particles": 3, "num_mcmc_steps": 2},
}


@pytest.mark.parametrize("name", rest_is_slow(COUNTED, (*STUDIED, "adjusted_mclmc")))
def test_gradients_are_counted(name):
    """Against a log-density that counts how often it is differentiated. (svgd, vi: by shape; pathfinder: see there.)"""
    seen = []

    @jax.custom_vjp
    def logdensity(x):
        return -jnp.sum(x**2) / 2

    def forward(x):
        return logdensity(x), x

    def backward(x, cotangent):
        jax.debug.callback(lambda _: seen.append(1), x)
        return (-x * cotangent,)

    logdensity.defvjp(forward, backward)
    sampler = SAMPLERS.build(name, COUNTED[name])
    watched = Target(logdensity, lambda _: jnp.eye(DIM))

    @quick_jit
    def one(key):
        state = sampler.init(key, lambda k: jax.random.normal(k, (DIM,)))
        return sampler.sample(key, watched, state)[1]

    reported = int(one(jax.random.key(2)).num_gradients)
    jax.effects_barrier()
    assert len(seen) == reported


def test_plain_sgld_is_the_papers_formula():
    """x + h grad + sqrt(2h) noise with h = step / largest curvature."""
    sampler = SGLD(num_steps=1, step_size=0.5)
    key, x = jax.random.key(3), jnp.array([1.0, 2.0, -1.0])
    draw = sampler.sample(key, target(1, 0.0), SamplerState(x))[1]
    first = jax.random.fold_in(jax.random.split(key)[1], 0)
    noise = normal(first, (DIM,))
    precision = target(1, 0.0).precision(x)
    h = 0.5 / np.linalg.eigvalsh(precision)[-1]
    np.testing.assert_allclose(
        draw.position, x - h * precision @ (x - MEAN) + np.sqrt(2 * h) * noise, rtol=1e-12
    )


def test_any_init_and_step_pair_can_be_a_kernel():
    """init(position), a bare array as state, and an info that knows nothing."""

    class Pair(NamedTuple):
        init: object
        step: object

    class Info(NamedTuple):
        nothing: int = 0

    def step(key, position):
        return 0.5 * position, Info()

    kernel = as_kernel(Pair(lambda position: position, step), num_gradients=3)
    assert isinstance(kernel, Kernel)
    key = jax.random.key(0)
    state, info = kernel.step(key, kernel.init(key, jnp.ones(2)))
    assert info.num_gradients == 3
    assert np.isnan(info.acceptance_rate)
    assert not info.num_divergent
    np.testing.assert_array_equal(kernel.position(state), 0.5 * np.ones(2))
    sampler = from_blackjax(lambda target, size: Pair(lambda p: p, step), num_steps=2, num_gradients=3)()
    draw = sampler.sample(jax.random.key(0), target(1, 0.0), SamplerState(jnp.ones(DIM)))[1]
    np.testing.assert_allclose(draw.position, 0.25 * np.ones(DIM))
    assert draw.num_gradients == 7


@settings
class WithInfo(Own):
    info: ClassVar[SamplerInfo] = SamplerInfo("a", "b", "c", "d")


def test_a_class_can_define_its_info():
    assert WithInfo().info == SamplerInfo("a", "b", "c", "d")
