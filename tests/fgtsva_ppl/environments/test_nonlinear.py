"""Environments beyond the linear ones: nonlinear rewards, the wheel, encodings of contexts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.environment_rounds import rounds
from helpers.montecarlo import assert_distribution, assert_frequencies
from helpers.played_rounds import OTHERS, rest_is_slow
from scipy import stats

from fgtsva_ppl import ENVIRONMENTS, Thompson, simulate
from fgtsva_ppl.agents import Uniform
from fgtsva_ppl.environments import LogisticBandit, MLPBandit, QuadraticBandit, Wheel
from fgtsva_ppl.environments.encoding import encode
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
    assert_distribution(outcome.noise, stats.norm(0, 0.1).cdf)


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
    assert_distribution(outcome.noise, stats.norm(0, 0.01).cdf)


def test_an_environment_and_an_agent_without_state_can_be_simulated():
    """The wheel draws nothing for a run, and a uniform agent learns nothing: neither has a state."""
    assert simulate(Wheel(), Uniform(), rounds=2, runs=1).regret.shape == (1, 2)


def test_encodings():
    context = jnp.asarray([2.0, 3.0])
    np.testing.assert_array_equal(encode(context, 2, "disjoint"), [[2, 3, 1, 0, 0, 0], [0, 0, 0, 2, 3, 1]])
    np.testing.assert_array_equal(encode(context, 2, "joint"), [[2, 3, 1, 0], [2, 3, 0, 1]])
