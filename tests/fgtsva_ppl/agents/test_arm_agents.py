"""Ensemble++ and TS-SA-style, by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.montecarlo import SEED

from fgtsva_ppl import TS, Linear
from fgtsva_ppl.agents import AveragedLangevin, LinearEnsemblePlusPlus
from fgtsva_ppl.environments import Arms, Sparse
from fgtsva_ppl.types import Round
from samplers.errors import InputError

DATA = [([1.0, 0.0, 0.5], 0.3), ([0.0, 1.0, -0.5], -0.2), ([1.0, 1.0, 0.0], 0.8), ([1.0, 0.0, 0.5], 0.1)]


def test_the_factor_is_a_root_of_the_covariance():
    """A A' is the covariance up to the error of M random directions, and the mean is exact."""
    members = 20_000
    agent = LinearEnsemblePlusPlus(Linear(prior_scale=2.0), TS(eta=2.0), members=members)
    state = agent.start(jax.random.key(1000 + SEED), Sparse(dim=3).shape)
    act = jax.jit(agent.act)
    for i, (features, reward) in enumerate(DATA):
        round = Round(jnp.asarray([features]), jnp.asarray(0.5))
        state, *_ = act(jax.random.key(100 * SEED + i), state, round)
        state = agent.update(state, round, jnp.asarray(0), jnp.asarray(reward))
    x, r = np.array([one[0] for one in DATA]), np.array([one[1] for one in DATA])
    precision = np.eye(3) / 4 + 4 * x.T @ x
    assert np.asarray(state.precision) == pytest.approx(precision)
    assert np.linalg.solve(precision, state.shift) == pytest.approx(np.linalg.solve(precision, 4 * x.T @ r))
    factor = np.linalg.solve(precision, state.factor)
    scale = np.sqrt(np.diag(np.linalg.inv(precision)))
    error = (factor @ factor.T - np.linalg.inv(precision)) / np.outer(scale, scale)
    # Off-diagonal products of two unit vectors have standard deviation 1/sqrt(M); a few dozen of them add up.
    assert np.abs(error).max() < 6 * np.sqrt(30 / members)


def test_an_average_of_steps_is_the_mean_of_the_rewards():
    agent, environment = AveragedLangevin(), Arms(arms=2)
    state = agent.start(jax.random.key(0), environment.shape)
    round, rewards = Round(jnp.eye(2), jnp.asarray(1.0)), [0.5, -1.0, 2.0]
    for reward in rewards:
        state = agent.update(state, round, jnp.asarray(1), jnp.asarray(reward))
    assert np.asarray(state.average) == pytest.approx([0.0, 0.5])
    assert np.asarray(state.plays).tolist() == [0, 3]
    _, action, info = agent.act(jax.random.key(1), state, round)
    assert int(action) == 0  # not played yet
    assert int(info.num_gradients) == 1


def test_noise_of_the_steps_averages_to_the_posterior_variance():
    agent, runs, plays = AveragedLangevin(redraw=False), 4000, 10
    round = Round(jnp.eye(2), jnp.asarray(2.0))

    def run(key):
        state = agent.start(key, Arms(arms=2).shape)
        for i in range(plays):
            state, *_ = agent.act(jax.random.fold_in(key, i), state, round)
            state = agent.update(state, round, jnp.asarray(0), jnp.asarray(1.0))
        return state.average[0]

    averages = np.asarray(jax.jit(jax.vmap(run))(jax.random.split(jax.random.key(SEED), runs)))
    variance = 4 / plays  # sigma^2 / n
    assert abs(averages.mean() - 1) < 6 * np.sqrt(variance / runs)
    assert abs(averages.var() / variance - 1) < 6 * np.sqrt(2 / runs)


def test_an_iterate_per_arm_needs_arms():
    with pytest.raises(InputError, match="environment=arms"):
        AveragedLangevin().start(jax.random.key(0), Sparse().shape)
