"""Reward programs of all shapes: flat unconstrained positions, Jacobians, and what is known of the prior."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from helpers.montecarlo import SEED, assert_distribution, assert_mean, moments
from helpers.played_rounds import rest_is_slow
from scipy import stats

from fgtsva_ppl import FGTSB, REWARDS, TS, InputError, Linear, LinearFunction
from fgtsva_ppl.posteriors import posterior_target
from fgtsva_ppl.posteriors.history import ReplayBuffer, SufficientStatistics, empty
from fgtsva_ppl.posteriors.learned_features import current_features, start_features
from fgtsva_ppl.posteriors.loss import gauss_newton
from fgtsva_ppl.rewards import Reward, flat_model
from fgtsva_ppl.rewards.inspection import _flat_model
from fgtsva_ppl.types import Round, Shape

DIM = 3
LOWER = np.array([[1.0, 0, 0], [0.3, 0.8, 0], [-0.2, 0.5, 0.6]])


@dataclass(frozen=True)
class Written(Reward):
    """A reward class out of a function that is a program, given the dimension."""

    body: object

    def program(self, dim):
        return lambda: self.body(dim)


def site(name, distribution, shape=()):
    return numpyro.sample(name, distribution.expand(list(shape)).to_event(len(shape)))


def correlated(dim):
    return LinearFunction(
        numpyro.sample("theta", dist.MultivariateNormal(jnp.arange(1.0, dim + 1), scale_tril=LOWER))
    )


def scaled(dim):
    """Two sites, one of them positive, in an order that is not the alphabet's."""
    theta = site("theta", dist.Normal(0, 1), [dim])
    scale = site("scale", dist.HalfNormal(2.0))
    return lambda features: scale * jnp.tanh(features @ theta)


def nested(dim):
    """A support that depends on the site before it."""
    top = site("top", dist.LogNormal(0.5, 0.3))
    low = site("low", dist.Uniform(0.0, top))
    return lambda features: low + (top - low) * jax.nn.sigmoid(features.sum(-1))


def simplex(dim):
    weights = numpyro.sample("weights", dist.Dirichlet(2.0 * jnp.ones(dim)))
    return LinearFunction(weights)


def laplace(dim):
    return LinearFunction(site("theta", dist.Laplace(0, 1.0), [dim]))


def student(dim):
    return LinearFunction(site("theta", dist.StudentT(5.0), [dim]))


def heavy(dim):
    """Quadratic near its centre: its tails fall half as fast beyond 8 standard deviations."""
    theta = site("theta", dist.Normal(0, 1), [dim])
    numpyro.factor("tails", jnp.sum(jnp.maximum(jnp.abs(theta) - 8, 0) ** 2) / 4)
    return LinearFunction(theta)


def doubled(dim):
    """Gaussian, but the flat vector is not the coefficients."""
    return LinearFunction(2 * site("half", dist.Normal(0, 1), [dim]))


def split(dim):
    """Gaussian over two sites, whose names are in the order of the coefficients."""
    first = site("a", dist.Normal(1.0, 0.5))
    return LinearFunction(jnp.append(first, site("b", dist.Normal(0, 2.0), [dim - 1])))


def swapped(dim):
    """The same in the other order: the flat vector is a permutation of the coefficients."""
    first = site("z", dist.Normal(1.0, 0.5))
    return LinearFunction(jnp.append(first, site("b", dist.Normal(0, 2.0), [dim - 1])))


def test_the_papers_prior_is_recognised():
    for dim in (1, 5):
        model = flat_model(Linear(), dim)
        np.testing.assert_allclose(model.gaussian.mean, 0, atol=1e-12)
        np.testing.assert_allclose(model.gaussian.precision, dim * np.eye(dim), rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(model.prior_precision, model.gaussian.precision)


def test_the_priors_scale_can_be_set():
    np.testing.assert_allclose(flat_model(Linear(prior_scale=0.5), 2).gaussian.precision, 4 * np.eye(2))


def test_a_correlated_prior_with_a_mean_is_recognised():
    model = flat_model(Written(correlated), DIM)
    np.testing.assert_allclose(model.gaussian.mean, [1, 2, 3], rtol=1e-9)
    np.testing.assert_allclose(model.gaussian.precision, np.linalg.inv(LOWER @ LOWER.T), rtol=1e-9)


def test_a_prior_over_several_sites_is_recognised():
    model = flat_model(Written(split), DIM)
    np.testing.assert_allclose(model.gaussian.mean, [1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(model.gaussian.precision, np.diag([4, 0.25, 0.25]), atol=1e-12)


@pytest.mark.parametrize(
    "body", rest_is_slow([laplace, student, heavy, doubled, swapped, simplex], [heavy, doubled])
)
def test_other_priors_are_not_taken_for_gaussian(body):
    model = flat_model(Written(body), DIM)
    assert model.linear
    assert model.gaussian is None
    assert (model.prior is not None) == (body in (doubled, swapped))  # Gaussian in the flat vector


@pytest.mark.parametrize("body", rest_is_slow([laplace, student, doubled, swapped, simplex], [doubled]))
def test_a_linear_reward_with_another_prior_still_has_sums_and_a_curvature(body):
    model = flat_model(Written(body), DIM)
    rng = np.random.default_rng(0)
    features, rewards, weights = rng.normal(size=(6, DIM)), rng.normal(size=6), rng.uniform(1, 2, 6)
    sums = SufficientStatistics(
        jnp.asarray(features.T * weights @ features),
        jnp.asarray(features.T @ (weights * rewards)),
        jnp.asarray(weights @ rewards**2),
    )
    rows = ReplayBuffer(*map(jnp.asarray, (features, rewards, weights)))
    position = model.draw(jax.random.key(1))
    function = model.function(position)
    np.testing.assert_allclose(sums.loss(function), rows.loss(function), rtol=1e-12)
    ours, theirs = (gauss_newton(model, data, position) for data in (sums, rows))
    np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)
    assert np.all(np.linalg.eigvalsh(ours) > 0)
    history = empty(linear=True, keep_actions=False, arms=2, dim=DIM, capacity=1)._replace(data=sums)
    target = posterior_target(FGTSB(lam=1.0), model, history, Round(jnp.eye(DIM), jnp.asarray(1.0)))
    assert target.exact is None
    assert np.isfinite(target.logdensity(position))


def test_the_density_of_a_constrained_site_has_its_jacobian():
    model = flat_model(Written(scaled), DIM)
    assert model.size == DIM + 1
    history = empty(linear=False, keep_actions=False, arms=DIM, dim=DIM, capacity=2)
    features, rewards, weights = np.eye(DIM)[:2], np.array([0.3, -0.8]), np.array([2.0, 3.0])
    history = history._replace(data=ReplayBuffer(*map(jnp.asarray, (features, rewards, weights))))
    target = posterior_target(FGTSB(lam=1.5), model, history, Round(jnp.eye(DIM), jnp.asarray(1.0)))
    for log_scale, *theta in np.random.default_rng(1).normal(size=(5, DIM + 1)):
        scale, theta = np.exp(log_scale), np.array(theta)
        means = scale * np.tanh(theta)
        expected = (
            np.sum(stats.norm.logpdf(theta))
            + stats.halfnorm(scale=2).logpdf(scale)
            + log_scale  # d scale / d log_scale
            - np.sum(weights * (rewards - means[:2]) ** 2)
            + 1.5 * np.max(means)
        )
        position = jnp.asarray([log_scale, *theta])  # sites in alphabetical order
        np.testing.assert_allclose(target.logdensity(position), expected, rtol=1e-12)


def test_a_support_may_depend_on_another_site():
    model = flat_model(Written(nested), DIM)
    free_low, free_top = 0.2, 1.3
    position = jnp.asarray([free_low, free_top])
    top = np.exp(free_top)
    low = top / (1 + np.exp(-free_low))
    there = model.constrain(position)
    np.testing.assert_allclose([there["low"], there["top"]], [low, top], rtol=1e-12)
    np.testing.assert_allclose(model.function(position)(jnp.zeros((1, DIM))), (low + top) / 2, rtol=1e-12)
    expected = stats.norm(0.5, 0.3).logpdf(free_top) + stats.logistic.logpdf(free_low)
    np.testing.assert_allclose(model.logdensity(model.program)(position), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "body", rest_is_slow([scaled, nested, simplex, correlated, split, swapped], [scaled, split])
)
def test_a_draw_and_its_flat_position_are_the_same_thing(body):
    model, key = flat_model(Written(body), DIM), jax.random.key(4)
    sites = numpyro.handlers.trace(numpyro.handlers.seed(model.program, key)).get_trace()
    there = model.constrain(model.draw(key))
    assert set(there) == {name for name, s in sites.items() if s["type"] == "sample"}
    for name, value in there.items():
        np.testing.assert_allclose(value, sites[name]["value"], rtol=1e-10)


def test_draws_have_the_distribution_of_the_prior():
    draws = np.asarray(jax.vmap(flat_model(Linear(), 2).draw)(jax.random.split(jax.random.key(SEED), 20_000)))
    assert_mean(moments(draws), [0, 0, 0.5, 0, 0.5])
    keys = jax.random.split(jax.random.key(SEED), 5000)
    free = np.asarray(jax.vmap(flat_model(Written(scaled), DIM).draw)(keys))
    assert_distribution(np.exp(free[:, 0]), stats.halfnorm(scale=2).cdf)
    assert_distribution(free[:, 1], stats.norm.cdf)


@pytest.mark.parametrize("reward", [Written(scaled), Written(nested), Written(laplace)])
def test_the_precision_of_an_unknown_prior_is_estimated(reward):
    model = flat_model(reward, DIM)
    draws = jax.vmap(model.draw)(jax.random.split(jax.random.key(9), 20_000))
    assert model.gaussian is None
    # 256 draws: the error of a variance is 9% or so; within a factor of 2 it serves as a scale
    ratio = np.diag(model.prior_precision) * np.var(np.asarray(draws), axis=0)
    assert np.all((ratio > 0.5) & (ratio < 2))


def test_a_discrete_site_is_rejected():
    def discrete(dim):
        index = numpyro.sample("index", dist.Categorical(probs=jnp.ones(4) / 4))
        return lambda features: features[:, 0] * index

    with pytest.raises(InputError, match="reward site 'index' is discrete; samplers here need continuous"):
        flat_model(Written(discrete), DIM)


def test_a_program_without_parameters_is_rejected():
    with pytest.raises(InputError, match="reward Written samples no parameters"):
        flat_model(Written(lambda dim: LinearFunction(jnp.ones(dim))), DIM)


def test_an_observed_site_is_not_a_parameter():
    def with_data(dim):
        theta = site("theta", dist.Normal(0, 1), [dim])
        numpyro.sample("seen", dist.Normal(theta[0], 0.1), obs=2.0)
        return LinearFunction(theta)

    model = flat_model(Written(with_data), 2)
    assert model.size == 2
    # a normal observation keeps it Gaussian: precision 1 + 100, mean 200/101
    np.testing.assert_allclose(model.gaussian.precision, np.diag([101, 1]), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.gaussian.mean, [200 / 101, 0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", rest_is_slow(REWARDS.names(), ["linear"]))
def test_every_registered_reward_can_be_inspected_while_tracing(name):
    reward = REWARDS.build(name)

    @jax.jit
    def density(position):
        model = flat_model(reward, 4, arms=2)
        history = empty(linear=model.linear, keep_actions=False, arms=2, dim=model.features, capacity=3)
        actions = model.embed(jnp.eye(4)[:2])
        if model.learner is not None:  # its program takes the features of a network
            learned = start_features(model, history, jax.random.key(1), Shape(2, 4, False, True))
            actions = current_features(model, learned, actions)
        round_ = Round(actions, jnp.asarray(1.0))
        return posterior_target(TS(), model, history, round_).logdensity(position)

    _flat_model.cache_clear()
    position = flat_model(reward, 4, arms=2).draw(jax.random.key(0))
    _flat_model.cache_clear()
    assert np.isfinite(density(position))
    assert isinstance(flat_model(reward, 4).prior_precision, np.ndarray)  # no tracer leaked into the cache
