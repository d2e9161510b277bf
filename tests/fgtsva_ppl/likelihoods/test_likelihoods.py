"""Every likelihood's value, gradient and Fisher information against SciPy, finite differences and sums over rewards."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from helpers.montecarlo import z_bound
from scipy import special, stats

from fgtsva_ppl.likelihoods import Bernoulli, OwnLikelihood, Poisson, Squared, StudentT
from fgtsva_ppl.likelihoods.families import SMALLEST_MEAN
from fgtsva_ppl.rewards import LinearFunction, LinkedFunction, flat_model

PREDICTORS = np.array([-3.0, -0.4, 0.0, 0.7, 2.5])
COUNTS = np.arange(200.0)
GRID = np.linspace(-400, 400, 400_001)  # for Student's t
STUDENT = StudentT(df=3.0, scale=0.7)

CASES = {
    "squared": (Squared(), np.array([0.3, -1.0, 2.0, 0.0, 5.0]), lambda r, x: -((r - x) ** 2)),
    "bernoulli": (Bernoulli(), np.array([0.0, 1, 1, 0, 1]), lambda r, x: stats.bernoulli.logpmf(r, special.expit(x))),
    "poisson": (Poisson(), np.array([0.0, 1, 3, 0, 9]),
                lambda r, x: stats.poisson.logpmf(r, np.exp(x)) + special.gammaln(r + 1)),
    "student_t": (STUDENT, np.array([0.3, -1.0, 2.0, 0.0, 50.0]),
                  lambda r, x: stats.t.logpdf((r - x) / 0.7, 3.0) - stats.t.logpdf(0.0, 3.0)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_value_is_scipys_and_gradient_that_of_finite_differences(name):
    likelihood, rewards, logpdf = CASES[name]
    losses = likelihood.losses(jnp.asarray(PREDICTORS), jnp.asarray(rewards))
    np.testing.assert_allclose(losses, -logpdf(rewards, PREDICTORS), rtol=1e-11, atol=1e-11)
    gradient = jax.grad(lambda x: jnp.sum(likelihood.losses(x, jnp.asarray(rewards))))(
        jnp.asarray(PREDICTORS)
    )
    h = 1e-5
    differences = -(logpdf(rewards, PREDICTORS + h) - logpdf(rewards, PREDICTORS - h)) / (2 * h)
    np.testing.assert_allclose(gradient, differences, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", ["bernoulli", "poisson", "student_t"])
def test_information_is_the_expected_square_of_the_score(name):
    likelihood, _, logpdf = CASES[name]
    rewards = {"bernoulli": COUNTS[:2], "poisson": COUNTS, "student_t": GRID}[name]
    width = GRID[1] - GRID[0] if name == "student_t" else 1.0
    density = {
        "bernoulli": logpdf,
        "poisson": lambda r, x: stats.poisson.logpmf(r, np.exp(x)),
        "student_t": lambda r, x: stats.t.logpdf((r - x) / 0.7, 3.0) - np.log(0.7),
    }[name]
    score = jax.grad(lambda x, r: likelihood.losses(x[None], r[None])[0])
    for x, information in zip(PREDICTORS, likelihood.information(jnp.asarray(PREDICTORS)), strict=True):
        scores = np.asarray(jax.vmap(score, (None, 0))(jnp.asarray(x), jnp.asarray(rewards)))
        expected = np.sum(np.exp(density(rewards, x)) * scores**2) * width
        np.testing.assert_allclose(information, expected, rtol=1e-5)


@pytest.mark.parametrize(("likelihood", "link"), [(Bernoulli(), "logit"), (Poisson(), "log")])
def test_a_predictor_and_its_mean_give_the_same_likelihood(likelihood, link):
    theta = jnp.asarray([0.3, -1.1])
    features = jnp.asarray([[1.0, 0.2], [0.4, -1.0], [0.0, 0.0]])
    linked = LinkedFunction(LinearFunction(theta), link)
    rewards, weights = jnp.asarray([1.0, 0.0, 5.0]), jnp.asarray([0.5, 0.5, 0.0])

    def position_to(function):
        return lambda x: function(LinkedFunction(LinearFunction(x), link))

    plain = likelihood.loss(lambda rows: linked(rows), features, rewards, weights)
    np.testing.assert_allclose(likelihood.loss(linked, features, rewards, weights), plain, rtol=1e-12)
    factors = [
        likelihood.curvature_factor(position_to(wrap), features, weights, theta)
        for wrap in (lambda f: f, lambda f: lambda rows: f(rows))
    ]
    np.testing.assert_allclose(*factors, rtol=1e-10)
    exact = jax.hessian(lambda x: likelihood.loss(position_to(lambda f: f)(x), features, rewards, weights))(
        theta
    )
    np.testing.assert_allclose(factors[0].T @ factors[0], exact, rtol=1e-10)  # the link is canonical


def test_large_logits_neither_overflow_nor_lose_their_gradient():
    features = jnp.asarray([[800.0], [-800.0]])
    rewards, ones = jnp.asarray([0.0, 1.0]), jnp.ones(2)

    def loss(theta):
        function = LinkedFunction(LinearFunction(theta), "logit")
        return Bernoulli().loss(function, features, rewards, ones)

    value, gradient = jax.value_and_grad(loss)(jnp.ones(1))
    np.testing.assert_allclose([value, gradient[0]], [1600.0, 1600.0])
    by_mean = Bernoulli().loss(lambda rows: jnp.asarray([1.0, 0.0]), features, rewards, ones)
    np.testing.assert_allclose(by_mean, -2 * np.log(SMALLEST_MEAN), rtol=1e-9)
    assert np.all(np.isfinite(Bernoulli().information(jnp.asarray([-1e4, 0.0, 1e4]))))


def by_distribution(dim):
    theta = numpyro.sample("theta", dist.Normal(0, 1).expand([dim]).to_event(1))
    return lambda features: dist.Bernoulli(logits=features @ theta)


def by_sampling(dim):
    theta = numpyro.sample("theta", dist.Normal(0, 1).expand([dim]).to_event(1))

    def function(features, rewards=None):
        with numpyro.plate("data", len(features)):
            numpyro.sample("reward", dist.Bernoulli(logits=features @ theta), obs=rewards)
        return jax.nn.sigmoid(features @ theta)

    return function


@pytest.mark.parametrize("program", [by_distribution, by_sampling])
def test_a_programs_own_likelihood_is_what_it_observes(program):
    model, theta = flat_model(program, 2), jnp.asarray([0.3, -1.1])
    assert model.observed
    features = jnp.asarray([[1.0, 0.2], [0.4, -1.0], [0.0, 0.0]])
    rewards, weights = jnp.asarray([1.0, 0.0, np.nan]), jnp.asarray([0.5, 1.5, 0.0])

    def logistic(x):
        return LinkedFunction(LinearFunction(x), "logit")

    np.testing.assert_allclose(model.function(theta)(features), logistic(theta)(features), rtol=1e-12)

    def value_and_gradient(likelihood, function, rewards):
        return jax.jit(
            jax.value_and_grad(lambda x: likelihood.loss(function(x), features, rewards, weights))
        )(theta)

    own = value_and_gradient(
        OwnLikelihood(), model.function, rewards
    )  # what stands in an empty row is not read
    named = value_and_gradient(Bernoulli(), logistic, jnp.nan_to_num(rewards))
    jax.tree.map(lambda ours, theirs: np.testing.assert_allclose(ours, theirs, rtol=1e-10), own, named)
    # The Fisher information, from simulated rewards: r = 1 with probability p, else 0.
    many = OwnLikelihood(num_simulated=2000)
    factor = np.asarray(jax.jit(lambda x: many.curvature_factor(model.function, features, weights, x))(theta))
    exact = np.asarray(Bernoulli().curvature_factor(logistic, features, weights, theta))
    terms = (factor[:, :, None] * factor[:, None]).reshape(2000, 3, 2, 2).sum(1) * 2000
    error = np.std(terms, axis=0) / np.sqrt(2000)
    assert np.all(np.abs(terms.mean(0) - exact.T @ exact) < z_bound(4) * error)
