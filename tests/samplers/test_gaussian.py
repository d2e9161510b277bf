"""Moments of a Gaussian by rank-one updates, against factorising the precision."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from samplers import Gaussian
from samplers.gaussian import Moments


def observations(rng, dim, rounds, spread):
    """Unit-norm features whose scales differ by axis, weights from 2 to 2000, responses."""
    features = rng.normal(size=(rounds, dim)) * np.geomspace(1, spread, dim)
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    return features, rng.normal(size=rounds), np.where(rng.random(rounds) < 0.1, 2.0, 2000.0)


@jax.jit
def conditioned(moments, features, responses, weights):
    def add(carry, row):
        return carry.conditioned(*row), None

    return jax.lax.scan(add, moments, (features, responses, weights))[0]


def prior(dim):
    eye = jnp.eye(dim)
    return Moments(jnp.zeros(dim), eye / dim, eye / jnp.sqrt(dim))


def posterior(dim, features, responses, weights):
    precision = dim * np.eye(dim) + features.T * weights @ features
    return Gaussian(jnp.asarray(precision), jnp.asarray(features.T @ (weights * responses)))


def relative_errors(moments, gaussian):
    """Errors in units in which the posterior is standard: of mean, covariance and root."""
    factor = np.linalg.cholesky(np.asarray(gaussian.precision))
    mean = np.linalg.solve(np.asarray(gaussian.precision), np.asarray(gaussian.shift))
    eye = np.eye(mean.size)
    whitened_root = factor.T @ np.asarray(moments.root)
    return (
        np.max(np.abs(factor.T @ (np.asarray(moments.mean) - mean))),
        np.max(np.abs(factor.T @ np.asarray(moments.covariance) @ factor - eye)),
        np.max(np.abs(whitened_root @ whitened_root.T - eye)),
    )


def test_factorising_gives_mean_and_root():
    data = observations(np.random.default_rng(0), 6, 30, 0.1)
    gaussian = posterior(6, *data)
    assert max(relative_errors(gaussian.moments(), gaussian)) < 1e-9


def test_one_observation_is_bayes_rule():
    features, responses, weights = observations(np.random.default_rng(1), 4, 1, 1.0)
    moments = prior(4).conditioned(
        jnp.asarray(features[0]), jnp.asarray(responses[0]), jnp.asarray(weights[0])
    )
    covariance = np.linalg.inv(4 * np.eye(4) + weights[0] * np.outer(features[0], features[0]))
    np.testing.assert_allclose(moments.covariance, covariance, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(moments.root @ moments.root.T, covariance, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(moments.mean, covariance @ features[0] * weights[0] * responses[0], rtol=1e-10)


@pytest.mark.parametrize(
    ("spread", "condition", "limit"), [(1.0, 1e2, 1e-10), (1e-2, 1e5, 1e-8), (3e-4, 1e8, 1e-5)]
)
def test_updates_agree_with_factorising(spread, condition, limit):
    """Without refactorising, at condition numbers up to 1e8: the error grows with the condition number only."""
    dim, rounds = 20, 4000
    data = observations(np.random.default_rng(2), dim, rounds, spread)
    gaussian = posterior(dim, *data)
    assert np.linalg.cond(np.asarray(gaussian.precision)) == pytest.approx(condition, rel=9)
    assert max(relative_errors(conditioned(prior(dim), *map(jnp.asarray, data)), gaussian)) < limit


@pytest.mark.slow
def test_updates_stay_accurate_for_a_hundred_thousand_rounds():
    dim, rounds, chunk = 20, 100_000, 2000
    data = observations(np.random.default_rng(3), dim, rounds, 1e-2)
    gaussian = posterior(dim, *data)
    never = conditioned(prior(dim), *map(jnp.asarray, data))
    assert max(relative_errors(never, gaussian)) < 1e-5
    last = posterior(dim, *(part[:-chunk] for part in data)).moments()
    refactored = conditioned(last, *(jnp.asarray(part[-chunk:]) for part in data))
    assert max(relative_errors(refactored, gaussian)) < 1e-7
