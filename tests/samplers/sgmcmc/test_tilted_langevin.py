"""Langevin steps on a tilted Gaussian by matrix products, against the same steps one by one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.montecarlo import assert_same_moments
from helpers.tilted_cases import correlated

from samplers import PSGLD, SGLD, Dense, Gaussian, SamplerState
from samplers.adaptation.preconditioning import whitened_tilt
from samplers.gaussian import Tilt
from samplers.sgmcmc import _tilted_langevin
from samplers.sgmcmc._tilted_langevin import _with_branch, _without_branch, own_coordinates, tilted_langevin
from samplers.target import Target

CASE = correlated("random").stretched(2.4)
START = jnp.array([0.4, -0.2, 0.1, 0.3, -0.1])
SIZE = 0.7


def target():
    gaussian = Gaussian(jnp.asarray(CASE.precision), jnp.asarray(CASE.precision @ CASE.mean))
    actions = jnp.asarray(CASE.actions)

    def logdensity(x):
        return gaussian.shift @ x - x @ gaussian.precision @ x / 2 + CASE.lam * jnp.max(actions @ x)

    return Target(
        logdensity,
        lambda x: gaussian.precision,
        gaussian,
        moments=gaussian.moments,
        tilt=Tilt(actions, jnp.asarray(CASE.lam)),
    )


def test_steps_are_those_of_the_definition():
    """x + h S grad log p(x) + sqrt(2h) W xi, through changes of the best arm."""
    where = own_coordinates(target())
    assert where.tilted is not None
    kernel = _with_branch(where.tilted, SIZE)
    key = jax.random.key(3)
    noise, noise_values = kernel.randomness(key, jnp.arange(40))
    state, x = kernel.init(key, START), START
    moments, gradient = target().moments(), jax.grad(target().logdensity)
    arms = []
    for row in zip(noise, noise_values, strict=True):
        state, step = kernel.step(row, state)
        x = x + SIZE * moments.covariance @ gradient(x) + jnp.sqrt(2 * SIZE) * row[0]
        np.testing.assert_allclose(kernel.position(state), x, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(state.values, CASE.actions @ x, rtol=1e-9, atol=1e-12)
        assert int(step.num_gradients) == 1
        arms.append(int(state.best))
    assert len(set(arms)) > 1
    covariance = np.cov(np.asarray(kernel.randomness(key, jnp.arange(20_000))[0]).T)
    np.testing.assert_allclose(covariance, np.linalg.inv(CASE.precision), atol=0.05 * covariance.max())


def test_small_and_large_targets_have_the_same_steps(monkeypatch):
    where, key, rows = own_coordinates(target()), jax.random.key(5), jnp.arange(30)
    assert tilted_langevin(where, SIZE).step.__qualname__.startswith(_without_branch.__name__)
    monkeypatch.setattr(_tilted_langevin, "MAX_NUMBERS_WITHOUT_BRANCH", 0)
    assert tilted_langevin(where, SIZE).step.__qualname__.startswith(_with_branch.__name__)
    ends = []
    for make in (_with_branch, _without_branch):
        kernel = make(where.tilted, SIZE)
        start = kernel.init(key, START)
        states, steps = jax.lax.scan(
            lambda x, row, step=kernel.step: step(row, x), start, kernel.randomness(key, rows)
        )
        ends.append(np.asarray(kernel.position(states)))
        assert int(np.sum(steps.num_divergent)) == 0
    np.testing.assert_allclose(*ends, rtol=1e-9)


@pytest.mark.parametrize("sampler", [PSGLD(), SGLD(preconditioner=Dense(), step_size_decay=0.5)])
def test_a_draw_is_distributed_as_by_the_general_kernel(sampler):
    """The general kernel works in whitened coordinates, where the noise is another rotation of the same normals."""
    plain = target()._replace(tilt=None)
    keys = jax.random.split(jax.random.key(1), 4000)

    @jax.jit
    def draws(keys):
        return [
            jax.vmap(lambda key, one=one: sampler.sample(key, one, SamplerState(START))[1].position)(keys)
            for one in (target(), plain)
        ]

    assert_same_moments(*map(np.asarray, draws(keys)))


def test_whitened_coordinates_are_those_of_the_target():
    whitened, plain = whitened_tilt(target()), target()
    zs = jax.random.normal(jax.random.key(2), (20, START.size))
    values = jax.vmap(whitened.logdensity)(zs) - jax.vmap(lambda z: plain.logdensity(whitened.to_target(z)))(
        zs
    )
    np.testing.assert_allclose(values, values[0], rtol=1e-9)  # up to a constant
    expected = jax.vmap(jax.grad(lambda z: plain.logdensity(whitened.to_target(z))))(zs)
    np.testing.assert_allclose(jax.vmap(jax.grad(whitened.logdensity))(zs), expected, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(whitened.from_target(whitened.to_target(zs[0])), zs[0], rtol=1e-9, atol=1e-12)
