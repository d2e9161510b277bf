"""Noise drawn for several steps at once: the numbers are JAX's, and a step's noise does not depend on the others."""

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from samplers.sgmcmc._fast_normal import normal_rows, threefry

from samplers import PSGLD, SGLD, Identity, SamplerState, Target
from samplers.adaptation.curvature import MAX_DIM_SQUARING, NUM_SQUARINGS, largest_eigenvalue_by_squaring
from samplers.markov import STEPS_PER_BLOCK

PRECISION = jnp.array([[3.0, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, 1.0]])
BOWL = Target(lambda x: -x @ PRECISION @ x / 2 - jnp.sum(jnp.cos(x)), lambda x: PRECISION)
START = SamplerState(jnp.array([1.0, -2.0, 0.5]))


def test_the_bits_are_those_of_jax():
    key, count = jax.random.key(5), jnp.arange(1000, dtype=jnp.uint32)
    high, low = threefry(*jax.random.key_data(key), jnp.zeros_like(count), count)
    expected = np.asarray(jax.random.bits(key, (1000,), "uint64"))
    np.testing.assert_array_equal((np.uint64(high) << np.uint64(32)) | np.uint64(low), expected)


@pytest.mark.parametrize("dim", [1, 5, 8])
def test_rows_are_those_of_a_key_folded_in(dim):
    key = jax.random.key(7)
    for indices in (np.arange(40), np.arange(10, 20), np.array([3, 39, 0])):
        rows = jax.jit(normal_rows, static_argnums=2)(key, jnp.asarray(indices), dim)
        expected = [jax.random.normal(jax.random.fold_in(key, index), (dim,)) for index in indices]
        np.testing.assert_allclose(rows, expected, rtol=1e-14)


def test_rows_do_not_depend_on_other_rows():
    keys, indices = jax.random.split(jax.random.key(0), 25), jnp.arange(STEPS_PER_BLOCK)
    together = jax.jit(jax.vmap(lambda key: normal_rows(key, indices, 5)))(keys)
    for key, rows in zip(keys, together, strict=True):
        np.testing.assert_allclose(rows, normal_rows(key, indices, 5), rtol=1e-14)


def test_other_keys_and_precisions_use_jax_random():
    rows = normal_rows(jax.random.key(1, impl="rbg"), jnp.arange(4), 3)
    assert np.unique(rows).size == 12
    with jax.enable_x64(False):
        key = jax.random.key(1)
        rows = normal_rows(key, jnp.arange(4), 3)
        assert rows.dtype == jnp.float32
        np.testing.assert_allclose(rows[2], jax.random.normal(jax.random.fold_in(key, 2), (3,)), rtol=1e-6)


def test_a_langevin_step_is_blackjaxs():
    """Its noise is that of the step's own key."""
    where = Identity().apply(BOWL, START.position)
    kernel, key = SGLD(step_size=0.3).kernel(where), jax.random.key(2)
    gradient = jax.grad(BOWL.logdensity)
    own = jax.random.fold_in(key, 6)
    theirs = blackjax.sgld(lambda x, _: gradient(x)).step(own, START.position, None, 0.3 / where.curvature)
    random = jax.tree.map(lambda row: row[0], kernel.randomness(key, jnp.array([6])))
    np.testing.assert_allclose(kernel.step(random, START.position)[0], theirs, rtol=1e-12)


@pytest.mark.parametrize("cls", [SGLD, PSGLD])
def test_a_draw_is_where_the_chain_is_after_its_steps(cls):
    """Whether or not the steps fill the batches in which their randomness is drawn."""
    longest = 2 * STEPS_PER_BLOCK + 1
    sample = jax.jit(lambda sampler, key: sampler.sample(key, BOWL, START)[1])
    key = jax.random.key(4)
    chain = cls(num_steps=longest).trace(key, BOWL, START, longest)
    for steps in (1, STEPS_PER_BLOCK - 1, STEPS_PER_BLOCK, STEPS_PER_BLOCK + 1, longest):
        draw = sample(cls(num_steps=steps), key)
        np.testing.assert_allclose(draw.position, chain.position[steps - 1], rtol=1e-9)
        assert int(draw.num_gradients) == steps


@pytest.mark.parametrize("dim", range(1, MAX_DIM_SQUARING + 1))
def test_squaring_finds_the_largest_eigenvalue(dim):
    rng = np.random.default_rng(dim)
    turn = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
    for spectrum in (np.geomspace(1e-6, 1e6, dim), rng.uniform(1, 2, dim), np.ones(dim)):
        largest = float(largest_eigenvalue_by_squaring(jnp.asarray(turn * spectrum @ turn.T)))
        assert largest == pytest.approx(spectrum.max(), rel=1e-9)


def test_squaring_keeps_its_bound_where_it_is_worst():
    """All other eigenvalues below the largest by a share 1 / n."""
    dim, powers = 5, 2.0**NUM_SQUARINGS
    spectrum = np.array([1 - 1 / powers] * (dim - 1) + [1.0])
    short = 1 - float(largest_eigenvalue_by_squaring(jnp.diag(jnp.asarray(spectrum))))
    assert 0 < short <= (dim - 1) / (np.e * powers)
