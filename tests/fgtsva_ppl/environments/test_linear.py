"""The environments against the paper's experiment section. Statistical tests: false alarms at 1e-6 each."""

import itertools
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.environment_rounds import noise
from helpers.montecarlo import (
    SEED,
    assert_distribution,
    assert_frequencies,
    assert_mean,
    assert_uncorrelated,
    moments,
)
from scipy import stats

from fgtsva_ppl import (
    ENVIRONMENTS,
    Contextual,
    Dense,
    Deterministic,
    Homoscedastic,
    InputError,
    Sparse,
    Thompson,
    simulate,
)
from fgtsva_ppl.environments.linear import hypercube

MANY = 20_000
LINEAR = ["sparse", "dense", "deterministic", "homoscedastic", "contextual", "finite"]
HYPERCUBES = [Sparse(), Dense(), Deterministic(), Homoscedastic()]


@jax.jit
def _starts(environment, keys):
    return jax.vmap(environment.start)(keys)


@jax.jit
def _rounds(environment, instance, keys):
    return jax.vmap(lambda key: environment.round(key, instance, jnp.asarray(0)))(keys)


@lru_cache
def instances(environment):
    """Many runs."""
    return jax.tree.map(np.asarray, _starts(environment, jax.random.split(jax.random.key(SEED), MANY)))


@lru_cache
def rounds(environment):
    """Many rounds of one run."""
    instance = environment.start(jax.random.key(SEED + 1000))
    keys = jax.random.split(jax.random.key(SEED), MANY)
    seen, outcome = _rounds(environment, instance, keys)
    return instance, jax.tree.map(np.asarray, seen), jax.tree.map(np.asarray, outcome)


@pytest.mark.parametrize("name", [name for name in LINEAR if name != "finite"])
def test_theta_is_uniform_on_the_unit_sphere(name):
    theta = instances(ENVIRONMENTS.build(name, {"arms": 2})).theta
    dim = theta.shape[1]
    assert dim == 5
    np.testing.assert_allclose(np.linalg.norm(theta, axis=1), 1, rtol=1e-14)
    expected = moments(np.zeros((1, dim)))[0]
    expected[dim:] = np.eye(dim)[np.triu_indices(dim)] / dim
    assert_mean(moments(theta), expected)
    # a coordinate of a uniform point: (1 + x)/2 is Beta((d-1)/2, (d-1)/2); so in a direction that is not an axis
    beta = stats.beta((dim - 1) / 2, (dim - 1) / 2)
    for direction in (np.eye(dim)[0], np.ones(dim) / np.sqrt(dim)):
        assert_distribution((1 + theta @ direction) / 2, beta.cdf)
    orthants = (theta > 0) @ (1 << np.arange(dim))
    assert_frequencies(np.bincount(orthants, minlength=2**dim), np.full(2**dim, 2.0**-dim))


@pytest.mark.parametrize("environment", HYPERCUBES, ids=lambda e: type(e).__name__)
def test_the_arms_are_the_32_vertices_of_the_unit_norm_hypercube_in_every_round(environment):
    expected = np.array(list(itertools.product([-1, 1], repeat=5))) / np.sqrt(5)
    _, seen, _ = rounds(environment)
    arms = np.asarray(seen.actions[0])
    assert environment.shape == (32, 5, True, True)
    assert arms.shape == (32, 5)
    np.testing.assert_allclose(np.unique(arms, axis=0), expected)
    np.testing.assert_allclose(np.linalg.norm(arms, axis=1), 1)
    assert np.all(seen.actions == arms)


@pytest.mark.parametrize("dim", [1, 2, 3, 7])
def test_the_hypercube_has_two_to_the_dim_distinct_vertices(dim):
    vertices = hypercube(dim)
    assert np.unique(vertices, axis=0).shape == (2**dim, dim)
    np.testing.assert_allclose(vertices**2, 1 / dim)


def test_fewer_arms_are_distinct_vertices_drawn_for_each_run():
    drawn = instances(Sparse(dim=3, arms=5)).actions
    assert drawn.shape == (MANY, 5, 3)
    number = (drawn < 0) @ (1 << np.arange(3))
    assert all(len(set(row)) == 5 for row in number.tolist())
    np.testing.assert_allclose(drawn, hypercube(3)[number])
    # every subset as often as every other: 56 of them
    subsets = np.sort(number, axis=1) @ 8 ** np.arange(5)
    _, counts = np.unique(subsets, return_counts=True)
    assert counts.size == 56
    assert_frequencies(counts, np.full(56, 1 / 56))


def test_more_arms_than_vertices_are_rejected():
    with pytest.raises(InputError) as error:
        simulate(Sparse(arms=33), Thompson(), rounds=1, runs=1)
    assert str(error.value) == "arms=33 must be at most 2^dim = 32"


@pytest.mark.parametrize(("p", "scale"), [(0.1, 1.0), (0.7, 2.5)])
def test_sparse_variance_is_bernoulli(p, scale):
    _, seen, _ = rounds(Sparse(p=p, scale=scale))
    noisy = seen.sigma > 0
    np.testing.assert_array_equal(seen.sigma, np.where(noisy, scale, 0))
    assert_frequencies(np.bincount(noisy, minlength=2), np.array([1 - p, p]))


@pytest.mark.parametrize(("p", "sigma"), [(0.0, 0.0), (1.0, 1.0)])
def test_sparse_variance_at_the_ends(p, sigma):
    _, seen, _ = rounds(Sparse(p=p))
    assert np.all(seen.sigma == sigma)


def test_sparse_defaults_are_the_papers():
    assert Sparse() == Sparse(dim=5, arms=0, p=0.1, scale=1.0, subgaussian=False)


def test_dense_variance_is_chi_squared_with_one_degree_of_freedom():
    _, seen, _ = rounds(Dense())
    assert np.all(seen.sigma >= 0)
    assert_distribution(seen.sigma**2, stats.chi2(1).cdf)
    _, scaled, _ = rounds(Dense(scale=3.0))
    np.testing.assert_allclose(scaled.sigma, 3 * seen.sigma)


def test_deterministic_has_no_noise():
    _, seen, outcome = rounds(Deterministic())
    assert np.all(seen.sigma == 0)
    assert np.all(noise(outcome) == 0)


def test_homoscedastic_noise_is_the_same_in_every_round():
    _, seen, outcome = rounds(Homoscedastic(scale=0.5))
    assert np.all(seen.sigma == 0.5)
    assert_distribution(noise(outcome), stats.norm(0, 0.5).cdf)


@pytest.mark.parametrize("subgaussian", [False, True])
@pytest.mark.parametrize(
    ("cls", "values"),
    [(Sparse, {"scale": 2.0}), (Dense, {}), (Homoscedastic, {}), (Contextual, {"arms": 2, "p": 0.5})],
)
def test_noise_is_normal_with_the_revealed_variance_or_a_quarter_of_it(cls, values, subgaussian):
    _, seen, outcome = rounds(cls(**values, subgaussian=subgaussian))
    noisy, errors = seen.sigma > 0, noise(outcome)
    ratio = errors[noisy] / seen.sigma[noisy]
    assert_distribution(ratio, stats.norm(0, 0.5 if subgaussian else 1).cdf)
    assert np.all(errors[~noisy] == 0)
    if np.ptp(seen.sigma[noisy]) > 0:  # the size of the noise depends on sigma alone
        assert_uncorrelated(ratio, seen.sigma[noisy])
        assert_uncorrelated(ratio**2, seen.sigma[noisy])


def test_the_subgaussian_convention_changes_the_noise_and_nothing_else():
    for plain, halved in [(Sparse(), Sparse(subgaussian=True)), (Dense(), Dense(subgaussian=True))]:
        for ours, theirs in zip(rounds(plain), rounds(halved), strict=True):
            for field in ours._fields:
                if getattr(ours, field) is None:
                    assert getattr(theirs, field) is None
                    continue
                if field == "rewards":
                    np.testing.assert_allclose(noise(ours) / 2, noise(theirs), atol=1e-14)
                    continue
                np.testing.assert_array_equal(getattr(ours, field), getattr(theirs, field))


@pytest.mark.parametrize("name", LINEAR)
def test_means_are_linear_in_the_revealed_features(name):
    instance, seen, outcome = rounds(ENVIRONMENTS.build(name))
    np.testing.assert_allclose(outcome.means, seen.actions @ np.asarray(instance.theta), atol=1e-14)


def test_contextual_arms_are_fresh_unit_vectors_in_every_round():
    environment = Contextual(dim=3, arms=4)
    _, seen, _ = rounds(environment)
    arms = seen.actions
    assert environment.shape == (4, 3, False, True)
    assert arms.shape == (MANY, 4, 3)
    np.testing.assert_allclose(np.linalg.norm(arms, axis=-1), 1, rtol=1e-14)
    assert np.unique(arms[..., 0]).size == 4 * MANY
    # by Archimedes a coordinate of a uniform point on the sphere in R^3 is uniform
    for arm, axis in itertools.product(range(4), range(3)):
        assert_distribution(arms[:, arm, axis], stats.uniform(-1, 2).cdf)
    # arms are independent of each other, of the previous round's and of the noise
    assert_uncorrelated(arms[:, 0], arms[:, 1])
    assert_uncorrelated(arms[:-1, 0], arms[1:, 0])
    assert_uncorrelated(arms[:, 0], seen.sigma[:, None])


@pytest.mark.parametrize("environment", [Sparse(), Dense(), Contextual(arms=2)])
def test_rounds_are_independent_of_the_run_they_belong_to(environment):
    """theta*, sigma_t and the noise of a round, over many runs, as the loop keys them."""

    def first_round(key):
        instance = environment.start(jax.random.fold_in(key, 0))
        seen, outcome = environment.round(
            jax.random.fold_in(jax.random.fold_in(key, 1), 1), instance, jnp.asarray(0)
        )
        return instance.theta, seen.sigma, outcome.rewards[0] - outcome.means[0]

    keys = jax.random.split(jax.random.key(SEED), MANY)
    theta, sigma, noise = map(np.asarray, jax.jit(jax.vmap(first_round))(keys))
    assert_uncorrelated(theta, sigma[:, None])
    assert_uncorrelated(theta, noise[:, None])
    assert_uncorrelated(theta**2, noise[:, None] ** 2)
