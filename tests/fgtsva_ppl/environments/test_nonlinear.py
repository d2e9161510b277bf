"""Environments beyond the linear ones: nonlinear rewards, the wheel, encodings of contexts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.environment_rounds import noise, rounds
from helpers.montecarlo import assert_distribution, assert_frequencies, assert_mean
from helpers.played_rounds import OTHERS, rest_is_slow
from scipy import stats

from fgtsva_ppl import ENVIRONMENTS, Bernoulli, InputError, Logistic, Thompson, WithNoise, simulate
from fgtsva_ppl.agents import Uniform
from fgtsva_ppl.environments import LogisticBandit, MLPBandit, QuadraticBandit, Wheel
from fgtsva_ppl.environments.encoding import encode
from fgtsva_ppl.environments.noise import ConstantNoise
from fgtsva_ppl.simulation import check
from fgtsva_ppl.types import Environment

BUILT = [name for name, values in OTHERS.items() if values is not None]


@pytest.mark.parametrize("name", rest_is_slow(BUILT, ["mlp", "wheel", "iris"]))
def test_every_other_environment_can_be_played_by_an_agent(name):
    environment = ENVIRONMENTS.build(name, OTHERS[name])
    assert isinstance(environment, Environment)
    check(environment, Thompson(), rounds=3)
    key, shape = jax.random.key(0), environment.shape
    seen, outcome = jax.eval_shape(
        lambda key: environment.round(key, environment.start(key), jnp.asarray(0)), key
    )
    assert seen.actions.shape == (shape.arms, shape.dim)
    assert outcome.means.shape == (shape.arms,)


def test_logistic_means_are_the_logistic_function_of_a_linear_one():
    theta, seen, outcome = rounds(LogisticBandit(dim=3, arms=4))
    np.testing.assert_allclose(outcome.means, 1 / (1 + np.exp(-seen.actions @ np.asarray(theta))), rtol=1e-12)
    assert_distribution(noise(outcome), stats.norm(0, 0.1).cdf)


def test_bernoulli_rewards_have_the_means_and_are_the_same_for_all_agents():
    plain, bandit = LogisticBandit(dim=3, arms=4), LogisticBandit(dim=3, arms=4, rewards="bernoulli")
    (theta, seen, outcome), (same, bare, gaussian) = rounds(bandit), rounds(plain)
    for ours, theirs in ((theta, same), (seen.actions, bare.actions), (outcome.means, gaussian.means)):
        np.testing.assert_array_equal(ours, theirs)
    assert np.all(np.isin(outcome.rewards, (0.0, 1.0)))
    assert np.all(seen.sigma == 0.5)
    centred = outcome.rewards - outcome.means
    assert_mean(centred, np.zeros(4))
    assert_mean(centred * (seen.actions @ np.asarray(theta)), np.zeros(4))  # at every mean
    assert_mean(centred**2 - outcome.means * (1 - outcome.means), np.zeros(4))
    with pytest.raises(InputError, match="not means plus noise"):
        check(WithNoise(bandit, ConstantNoise()), Thompson(), rounds=3)
    agent = Thompson(Logistic(), likelihood=Bernoulli())
    check(bandit, agent, rounds=3)
    with pytest.raises(InputError, match="rewards that are 0 or 1, and environment LogisticBandit pays"):
        check(plain, agent, rounds=3)
    # Rewards of all arms follow from the round's key alone, whichever arm an agent pulls; a better arm pays no less.
    again = rounds(bandit)[2].rewards
    np.testing.assert_array_equal(again, outcome.rewards)
    order = np.argsort(outcome.means, axis=1)
    assert np.all(np.diff(np.take_along_axis(outcome.rewards, order, 1), axis=1) >= 0)


def test_quadratic_means_are_the_square_of_a_linear_function():
    theta, seen, outcome = rounds(QuadraticBandit(dim=3, arms=4, gain=2.0))
    np.testing.assert_allclose(outcome.means, 2 * (seen.actions @ np.asarray(theta)) ** 2, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(theta), 1)


def test_networks_of_two_runs_differ():
    environment = MLPBandit(dim=3, arms=4, width=2)
    first, second = (environment.start(key) for key in jax.random.split(jax.random.key(0)))
    assert np.all(np.asarray(first) != np.asarray(second))


@pytest.mark.parametrize("delta", [0.5, 0.95])
def test_the_wheel_is_as_published(delta):
    environment = Wheel(delta=delta)
    _, seen, outcome = rounds(environment)
    assert environment.shape == (5, 15, False, False)
    point = seen.actions[:, 0, :2]
    for arm in range(5):
        np.testing.assert_array_equal(
            seen.actions[:, arm].reshape(-1, 5, 3)[:, arm], np.insert(point, 2, 1, axis=1)
        )
    radius = np.linalg.norm(point, axis=1)
    assert_distribution(radius**2, stats.uniform.cdf)  # uniform in the disk
    inside = radius <= delta
    np.testing.assert_array_equal(outcome.means[inside], np.tile([1.2, 1, 1, 1, 1], (inside.sum(), 1)))
    for place, rewards in zip(point[~inside], outcome.means[~inside], strict=True):
        expected = np.array([1.2, 1, 1, 1, 1])
        expected[{(1, 1): 1, (1, -1): 2, (-1, 1): 3, (-1, -1): 4}[tuple(np.sign(place).astype(int))]] = 50
        np.testing.assert_array_equal(rewards, expected)
    assert_frequencies(np.bincount(inside, minlength=2), np.array([1 - delta**2, delta**2]))
    assert_distribution(noise(outcome), stats.norm(0, 0.01).cdf)


def test_an_environment_and_an_agent_without_state_can_be_simulated():
    """The wheel draws nothing for a run, and a uniform agent learns nothing: neither has a state."""
    assert simulate(Wheel(), Uniform(), rounds=2, runs=1).regret.shape == (1, 2)


def test_encodings():
    context = jnp.asarray([2.0, 3.0])
    np.testing.assert_array_equal(encode(context, 2, "disjoint"), [[2, 3, 1, 0, 0, 0], [0, 0, 0, 2, 3, 1]])
    np.testing.assert_array_equal(encode(context, 2, "joint"), [[2, 3, 1, 0], [2, 3, 0, 1]])
