"""Polya-Gamma variables against closed forms, and the Gibbs sampler against a grid."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.montecarlo import SEED, assert_mean
from scipy import special

from samplers import Gaussian, PolyaGamma, Target
from samplers._polya_gamma import polya_gamma
from samplers.base import SamplerState
from samplers.errors import InputError
from samplers.logistic import LogisticFactor

TILTS = np.array([0.0, 0.3, 1.0, 3.0, 3.2, 12.0, 200.0])  # on both sides of the change of proposal at 2/T
MANY = 20_000
RNG = np.random.default_rng(5)
FEATURES = np.concatenate([RNG.normal(size=(25, 2)), np.zeros((3, 2))])
RESPONSES = np.concatenate([(RNG.random(25) < special.expit(FEATURES[:25] @ [1.5, -1.0])), np.zeros(3)]) * 1.0
PRESENT = np.repeat([1.0, 0.0], [25, 3])
ARMS = np.array([[1.0, 0.5], [-0.5, 1.0], [0.2, -1.0]])


def test_draws_have_the_moments_and_the_laplace_transform_of_their_distribution():
    draws = np.asarray(jax.jit(polya_gamma)(jax.random.key(SEED), jnp.asarray(np.tile(TILTS, MANY))))
    draws = draws.reshape(MANY, len(TILTS))
    assert np.all(draws > 0)
    c = np.maximum(TILTS, 1e-3)
    mean = np.tanh(c / 2) / (2 * c)
    # (sinh c - c) / (4 c^3 cosh^2(c/2)), with the hyperbolic functions scaled by exp(-c)
    variance = ((1 - np.exp(-2 * c)) / 2 - c * np.exp(-c)) / (c**3 * (1 + np.exp(-c)) ** 2)
    variance[0] = 1 / 24
    assert_mean(draws, mean)
    assert_mean((draws - mean) ** 2, variance)
    for s in (0.5, 4.0, 40.0):  # E exp(-s omega) = cosh(c/2) / cosh(sqrt(c^2/4 + s/2))
        root = np.sqrt(TILTS**2 / 4 + s / 2)
        exact = np.exp(TILTS / 2 - root) * (1 + np.exp(-TILTS)) / (1 + np.exp(-2 * root))
        assert_mean(np.exp(-s * draws), exact)


def target(lam, eta):
    """A logistic regression with empty rows, a tempered likelihood and a feel-good term."""
    features, responses, present, arms = map(jnp.asarray, (FEATURES, RESPONSES, PRESENT, ARMS))

    def log_likelihood(x):
        logits = features @ x
        return jnp.sum(present * (responses * logits - jax.nn.softplus(logits)))

    def remainder(x):
        return lam * jnp.max(jax.nn.sigmoid(arms @ x)) + (eta - 1) * log_likelihood(x)

    def logdensity(x):
        return -x @ x / 2 + log_likelihood(x) + remainder(x)

    factor = LogisticFactor(features, responses, present, remainder)
    return Target(
        logdensity, gaussian=Gaussian(jnp.eye(2), jnp.zeros(2)), metric=lambda: jnp.eye(2), logistic=factor
    )


@jax.jit
def chains(lam, eta, keys):
    start, sampler = SamplerState(jnp.asarray([1.0, 1.0])), PolyaGamma(num_steps=20)
    return jax.vmap(lambda key: sampler.sample(key, target(lam, eta), start)[1])(keys)


@pytest.mark.parametrize(("lam", "eta"), [(0.0, 1.0), (3.0, 1.2)], ids=["Gibbs", "accept step"])
def test_moments_and_action_probabilities_are_those_of_a_grid(lam, eta):
    """Independent chains from far out; with a bonus and a power of the likelihood the accept step corrects both."""
    posterior = target(lam, eta)
    axis = np.linspace(-3, 5, 161)
    grid = np.stack(np.meshgrid(axis, axis - 1.5, indexing="ij"), -1).reshape(-1, 2)
    values = np.asarray(jax.vmap(posterior.logdensity)(jnp.asarray(grid)))
    weights = np.exp(values - values.max())
    weights /= weights.sum()
    draw = chains(lam, eta, jax.random.split(jax.random.key(SEED), 1000))
    positions = np.asarray(draw.position)

    def statistics(x):
        best = np.eye(3)[np.argmax(x @ ARMS.T, axis=1)]
        return np.concatenate([x, x**2, x[:, :1] * x[:, 1:], best[:, :1]], axis=1)

    assert_mean(statistics(positions), weights @ statistics(grid))
    if lam == 0:
        np.testing.assert_array_equal(draw.acceptance_rate, 1.0)
    else:
        assert 0.3 < np.mean(draw.acceptance_rate) < 0.99


def test_it_says_what_it_needs():
    with pytest.raises(InputError, match="likelihood=bernoulli with reward=logistic"):
        PolyaGamma().sample(
            jax.random.key(0), target(0.0, 1.0)._replace(logistic=None), SamplerState(jnp.zeros(2))
        )
