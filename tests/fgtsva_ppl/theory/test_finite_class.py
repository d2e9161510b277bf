"""A finite class: its exact posterior, and measured regret below the theorem's bound."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.montecarlo import assert_frequencies, assert_mean, standard_error, z_bound
from helpers.played_rounds import rest_is_slow
from scipy import stats

from fgtsva_ppl import FGTSA, FGTSVA, TS, Exact, Thompson, simulate, theory
from fgtsva_ppl.environments import FiniteClass
from fgtsva_ppl.posteriors import posterior_target
from fgtsva_ppl.posteriors.history import empty
from fgtsva_ppl.rewards import Finite, flat_model
from fgtsva_ppl.rewards.finite import table
from fgtsva_ppl.types import Round

MEMBERS, ARMS = 5, 3
ROUND = Round(jnp.eye(ARMS), jnp.asarray(0.5))


def some_history(posterior, rounds=6):
    """A few data, and the same as plain numbers."""
    rng = np.random.default_rng(1)
    model = flat_model(Finite(MEMBERS), ARMS)
    assert model.linear
    assert model.gaussian is None
    history = empty(linear=True, keep_actions=False, arms=ARMS, dim=ARMS, capacity=8)
    data = []
    for arm in rng.integers(0, ARMS, rounds):
        sigma, reward = rng.uniform(0.2, 1.5), rng.uniform()
        weight, variance = (f(jnp.asarray(sigma)) for f in (posterior.weight, posterior.round_variance))
        history = history.added(jnp.eye(ARMS), jnp.asarray(arm), jnp.asarray(reward), weight, variance)
        data.append((arm, reward, float(weight), float(variance)))
    return model, history, data


def softmax_over_members(posterior, data):
    """The posterior probability of every member, directly."""
    values = table(MEMBERS, ARMS, 0)
    variance = sum(row[3] for row in data)
    lam = float(posterior.bonus_scale(jnp.asarray(variance), ROUND.sigma))
    rounds = len(data) if posterior.sums_past else 1
    logs = rounds * lam * values.max(1)
    for arm, reward, weight, _ in data:
        logs = logs - weight * (reward - values[:, arm]) ** 2
    return np.exp(logs - logs.max()) / np.sum(np.exp(logs - logs.max()))


POSTERIORS = {"va": FGTSVA(c=0.5, alpha=0.1), "a": FGTSA(lam=0.3), "ts": TS()}


@pytest.mark.parametrize("name", POSTERIORS)
def test_exact_draws_are_a_softmax_over_the_members(name):
    posterior = POSTERIORS[name]
    model, history, data = some_history(posterior)
    target = posterior_target(posterior, model, history, ROUND)
    draws = jax.jit(jax.vmap(target.exact))(jax.random.split(jax.random.key(1), 20_000))
    counts = np.bincount(np.asarray(model.program.index(draws[:, 0])), minlength=MEMBERS)
    assert_frequencies(counts, softmax_over_members(posterior, data))
    # Within a cell the position is spread as the prior is, so that other samplers have the same target.
    shares = MEMBERS * stats.norm.cdf(np.asarray(draws[:, 0])) % 1
    assert_mean(shares[:, None] ** [1, 2], np.array([1 / 2, 1 / 3]))


@pytest.mark.parametrize("name", POSTERIORS)
def test_the_log_density_has_the_same_probabilities(name):
    posterior = POSTERIORS[name]
    model, history, data = some_history(posterior)
    target = posterior_target(posterior, model, history, ROUND)
    positions = model.program.positions(jnp.asarray(0.3))
    np.testing.assert_array_equal(model.program.index(positions[:, 0]), np.arange(MEMBERS))
    logs = jax.vmap(target.logdensity)(positions) - stats.norm.logpdf(positions[:, 0])
    expected = np.log(softmax_over_members(posterior, data))
    np.testing.assert_allclose(logs - logs[0], expected - expected[0], atol=1e-9)


def test_the_prior_is_uniform_and_every_position_is_some_member():
    model = flat_model(Finite(MEMBERS), ARMS)
    draws = jax.vmap(model.draw)(jax.random.split(jax.random.key(2), 10_000))
    assert_frequencies(
        np.bincount(np.asarray(model.program.index(draws[:, 0]))), np.full(MEMBERS, 1 / MEMBERS)
    )
    extremes = model.program.index(jnp.asarray([-50.0, 50.0]))
    np.testing.assert_array_equal(extremes, [0, MEMBERS - 1])
    for share in (0.0, 1.0):
        positions = model.program.positions(jnp.asarray(share))
        assert np.all(np.isfinite(positions))
        np.testing.assert_array_equal(model.program.index(positions[:, 0]), np.arange(MEMBERS))


def test_the_environment_satisfies_the_theorems_assumptions():
    environment = FiniteClass(arms=ARMS, members=MEMBERS, p=0.5, scale=2.0)
    values = table(MEMBERS, ARMS, 0)
    assert values.min() >= 0
    assert values.max() <= 1
    instances = jax.vmap(environment.start)(jax.random.split(jax.random.key(0), 2000))
    which = np.argmin(np.abs(np.asarray(instances.theta)[:, None] - values[None]).sum(-1), axis=1)
    np.testing.assert_array_equal(instances.theta, values[which])
    assert_frequencies(np.bincount(which, minlength=MEMBERS), np.full(MEMBERS, 1 / MEMBERS))
    instance = environment.start(jax.random.key(1))
    keys = jax.random.split(jax.random.key(2), 20_000)
    seen, outcome = jax.vmap(environment.round, (0, None, None))(keys, instance, jnp.asarray(0))
    sigma, noise = np.asarray(seen.sigma), np.asarray(outcome.rewards - outcome.means)[:, 0]
    assert np.all(noise[sigma == 0] == 0)
    # log-mgf <= sigma^2 l^2/8 with equality: Gaussian with variance sigma^2/4
    assert_mean(noise[sigma > 0][:, None] ** [1, 2], np.array([0.0, 2.0**2 / 4]))


@pytest.mark.parametrize(
    ("p", "members", "arms", "seed"),
    rest_is_slow([(0.0, 8, 4, 0), (0.1, 8, 4, 0), (1.0, 3, 2, 3)], []),
)
def test_measured_regret_stays_below_the_bound(p, members, arms, seed):
    """Theorem of Appendix B with the recommended alpha, c and dc. An upper confidence limit, false alarm 1e-6."""
    rounds, values = 1000, table(members, arms, seed)
    assert len(set(values.argmax(1))) > 1, "nothing to learn if one arm is best under all members"
    environment = FiniteClass(arms=arms, members=members, table_seed=seed, p=p)
    recommended = theory.recommended_finite(members, arms, rounds)
    agent = Thompson(Finite(members, seed), FGTSVA(c=recommended.c, alpha=recommended.alpha), Exact())
    regret = simulate(environment, agent, rounds=rounds, runs=50).cumulative_regret[:, -1]
    upper = np.mean(regret) + z_bound(1) * standard_error(regret)
    assert 0 < upper < float(recommended.regret_bound(p * rounds, rounds)) < rounds, (
        "a bound above T would show nothing"
    )
    uniform = rounds * np.mean(values.max(1) - values.mean(1))
    assert 0 < np.mean(regret) < uniform / 10, "and it learns"
