"""Random numbers written out: keys are JAX's, quantiles are SciPy's, and a row does not depend on other rows."""

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.montecarlo import SEED, assert_distribution, assert_mean
from scipy import stats

from samplers import PSGLD, SGLD, Identity, SamplerState, Target, _threefry
from samplers._fast_normal import _quantiles, normal, normal_rows
from samplers._threefry import threefry, unrolled
from samplers.markov import STEPS_PER_BLOCK

PRECISION = jnp.array([[3.0, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, 1.0]])
BOWL = Target(lambda x: -x @ PRECISION @ x / 2 - jnp.sum(jnp.cos(x)), lambda x: PRECISION)
START = SamplerState(jnp.array([1.0, -2.0, 0.5]))


def test_the_bits_are_those_of_jax():
    key, count = jax.random.key(5), jnp.arange(1000, dtype=jnp.uint32)
    high, low = threefry(*jax.random.key_data(key), jnp.zeros_like(count), count)
    expected = np.asarray(jax.random.bits(key, (1000,), "uint64"))
    np.testing.assert_array_equal((np.uint64(high) << np.uint64(32)) | np.uint64(low), expected)


def test_keys_are_those_of_jax():
    key = jax.random.key(3)
    folded = _threefry.fold_in(key, jnp.array([0, 1, 700]))
    expected = [jax.random.fold_in(key, number) for number in (0, 1, 700)]
    for ours, theirs in zip(
        [*folded, *_threefry.split(key, 3)], [*expected, *jax.random.split(key, 3)], strict=True
    ):
        np.testing.assert_array_equal(*map(jax.random.key_data, (ours, theirs)))


def test_float64_numbers_are_those_of_jax():
    key = jax.random.key(4)
    for shape in ((), (50,), (3, 7)):
        np.testing.assert_array_equal(_threefry.uniform(key, shape), jax.random.uniform(key, shape))
        np.testing.assert_array_equal(_threefry.normal(key, shape), jax.random.normal(key, shape))


def test_an_unrolled_key_gives_the_numbers_of_its_key():
    def numbers(key):
        folded = jax.random.fold_in(key, 5)
        keys = jax.random.split(folded, 3)
        bits = [jax.random.bits(key, (6,), f"uint{width}") for width in (8, 16, 32, 64)]
        several = jax.vmap(lambda one: jax.random.normal(one, (2,)))(keys)
        return jax.random.key_data(keys), bits, several, jax.random.permutation(folded, 9)

    key = jax.random.key(8)
    for ours, theirs in zip(*(jax.tree.leaves(numbers(one)) for one in (unrolled(key), key)), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    other = jax.random.key(1, impl="rbg")
    assert unrolled(other) is other


@pytest.mark.parametrize("impl", ["rbg", "threefry2x32"])
def test_other_keys_and_precisions_use_jax_random(impl):
    with jax.enable_x64(impl == "rbg"):
        key = jax.random.key(1, impl=impl)
        np.testing.assert_allclose(_threefry.uniform(key, (4,)), jax.random.uniform(key, (4,)))
        np.testing.assert_allclose(_threefry.normal(key, (4,)), jax.random.normal(key, (4,)))
        for ours, theirs in zip(_threefry.split(key), jax.random.split(key), strict=True):
            np.testing.assert_array_equal(*map(jax.random.key_data, (ours, theirs)))
        assert normal(key, (4,)).dtype == jnp.result_type(float)
        assert np.unique(normal_rows(key, jnp.arange(4), 3)).size == 12


def test_quantiles_are_those_of_the_normal_distribution():
    """All leading bits, and both ends of the tail probability: 31 bits and a sign."""
    ends = np.arange(2000, dtype=np.uint32)
    bits = np.concatenate([np.arange(2**16, dtype=np.uint32) << 15, ends, np.uint32(2**31 - 1) - ends])
    tail = (bits + 0.5) * 2.0**-31
    expected = np.where(tail > 0.5, stats.halfnorm.ppf(1 - tail), stats.halfnorm.isf(tail))
    for sign in (0, 1):
        numbers = np.asarray(jax.jit(_quantiles)(jnp.asarray(bits | np.uint32(sign << 31))))
        np.testing.assert_allclose(numbers, (1 - 2 * sign) * expected, rtol=2e-6)
    assert expected.max() > 6.2


def test_numbers_are_normal():
    numbers = np.asarray(normal(jax.random.key(SEED), (200_001,)))
    assert np.unique(numbers).size > 199_000  # 31 bits and a sign: about five pairs coincide
    assert_distribution(numbers, stats.norm.cdf)
    assert_mean(numbers[:, None] ** np.arange(1, 5), np.array([0.0, 1.0, 0.0, 3.0]))
    halves = numbers[:100_000], numbers[100_001:]  # the two words of a counter
    assert_mean((halves[0] * halves[1])[:, None], 0.0)


@pytest.mark.parametrize("dim", [1, 5, 8])
def test_rows_are_those_of_a_key_folded_in(dim):
    key = jax.random.key(7)
    for indices in (np.arange(40), np.arange(10, 20), np.array([3, 39, 0])):
        rows = jax.jit(normal_rows, static_argnums=2)(key, jnp.asarray(indices), dim)
        expected = [normal(jax.random.fold_in(key, index), (dim,)) for index in indices]
        np.testing.assert_allclose(rows, expected, rtol=1e-6)


def test_rows_do_not_depend_on_other_rows():
    keys, indices = jax.random.split(jax.random.key(0), 25), jnp.arange(STEPS_PER_BLOCK)
    together = jax.jit(jax.vmap(lambda key: normal_rows(key, indices, 5)))(keys)
    for key, rows in zip(keys, together, strict=True):
        np.testing.assert_allclose(rows, normal_rows(key, indices, 5), rtol=1e-6)


def test_a_langevin_step_is_blackjaxs():
    """Given the same noise."""
    where = Identity().apply(BOWL, START.position)
    kernel, key = SGLD(step_size=0.3).kernel(where), jax.random.key(2)
    size, gradient = 0.3 / where.curvature, jax.grad(BOWL.logdensity)
    theirs = blackjax.sgld(lambda x, _: gradient(x)).step(key, START.position, None, size)
    moved = theirs - START.position - size * gradient(START.position)
    noise = moved / jnp.sqrt(2 * size)
    np.testing.assert_allclose(kernel.step((noise, None), START.position)[0], theirs, rtol=1e-12)
    random = jax.tree.map(lambda row: row[0], kernel.randomness(key, jnp.array([6])))
    np.testing.assert_allclose(random[0], normal(jax.random.fold_in(key, 6), (3,)), rtol=1e-6)


@pytest.mark.parametrize("cls", [SGLD, PSGLD])
def test_a_draw_is_where_the_chain_is_after_its_steps(cls):
    """Whether or not the steps fill the batches in which their randomness is drawn."""
    longest = 2 * STEPS_PER_BLOCK + 1
    sample = jax.jit(lambda sampler, key: sampler.sample(key, BOWL, START)[1])
    key = jax.random.key(4)
    # Compiled: one operation at a time, the numbers would round differently.
    chain = jax.jit(lambda sampler: sampler.trace(key, BOWL, START, longest))(cls(num_steps=longest))
    for steps in (1, STEPS_PER_BLOCK - 1, STEPS_PER_BLOCK, STEPS_PER_BLOCK + 1, longest):
        draw = sample(cls(num_steps=steps), key)
        np.testing.assert_allclose(draw.position, chain.position[steps - 1], rtol=1e-9)
        assert int(draw.num_gradients) == steps
