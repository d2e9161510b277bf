"""The vectorised argmax is jnp.argmax."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from samplers._argmax import argmax


@pytest.mark.parametrize("levels", [1, 3, 10**6])
def test_argmax_returns_the_first_of_several_maxima(levels):
    values = jax.random.randint(jax.random.key(levels), (7, 200), 0, levels) / 3
    np.testing.assert_array_equal(argmax(values), np.argmax(values, axis=0))
    assert argmax(values[:, 0]) == np.argmax(values[:, 0])


@pytest.mark.parametrize("dim", [1, 5])
def test_argmax_of_fused_values_is_correct(dim):
    """A compiler that rounded them differently in two places would find no largest one."""
    arms, points = (jax.random.normal(jax.random.key(n), (n, dim)) for n in (33, 2500))

    def both(x):
        values = arms @ x
        return argmax(values), jnp.argmax(values)

    np.testing.assert_array_equal(*jax.jit(jax.vmap(both))(points))
    alone = jax.jit(jax.vmap(lambda x: argmax(arms @ x)))(points)
    np.testing.assert_array_equal(alone, np.argmax(points @ arms.T, axis=1))
