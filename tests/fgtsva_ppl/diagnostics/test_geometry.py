"""Condition number and gradient norm of a posterior against closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.montecarlo import SEED, assert_mean

from fgtsva_ppl.diagnostics.geometry import condition_number, gradient_norm
from samplers import Target

PRECISION = np.diag([1.0, 4.0, 25.0])
TARGET = Target(lambda x: -x @ PRECISION @ x / 2, lambda x: jnp.asarray(PRECISION))


def test_condition_number_is_the_ratio_of_the_extreme_eigenvalues():
    assert float(condition_number(TARGET, jnp.zeros(3))) == pytest.approx(25)


def test_gradient_norm_is_one_in_the_posterior_and_the_squared_distance_outside():
    draws = np.asarray(jax.random.normal(jax.random.key(SEED), (4000, 3))) / np.sqrt(np.diag(PRECISION))
    norms = [float(gradient_norm(TARGET, jnp.zeros(3), jnp.asarray(block))) for block in np.split(draws, 40)]
    assert_mean(np.array(norms)[:, None], 1.0)
    far = jnp.asarray([[10.0, 0.0, 0.0], [0.0, 0.0, 2.0]])  # each ten standard deviations out
    assert float(gradient_norm(TARGET, jnp.zeros(3), far)) == pytest.approx(100 / 3)


def test_both_are_nan_without_a_precision():
    unknown = TARGET._replace(precision=None)
    assert np.isnan(float(condition_number(unknown, jnp.zeros(3))))
    assert np.isnan(float(gradient_norm(unknown, jnp.zeros(3), jnp.zeros((2, 3)))))
