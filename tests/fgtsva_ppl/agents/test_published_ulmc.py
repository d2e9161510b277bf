"""Another project's bandit with chains per arm: what is appended, which way steps go, and the exact posterior."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.montecarlo import SEED, assert_mean

from fgtsva_ppl.agents import PublishedULMC
from fgtsva_ppl.agents.published_ulmc import sample_without_replacement
from fgtsva_ppl.environments import Arms, Sparse
from fgtsva_ppl.types import Round
from samplers.errors import InputError

ARMS, ROUNDS = 3, 12
MEANS = jnp.array([1.0, 2.0, 9.0])
ROUND = Round(jnp.eye(ARMS), jnp.asarray(1.0))


def played(agent, rounds=ROUNDS, key=SEED):
    """The agent's states and arms, round by round."""
    agent = agent.for_horizon(rounds)
    state = agent.start(jax.random.key(0), Arms(arms=ARMS).shape)
    act, history = jax.jit(agent.act_with_means), []
    for t in range(rounds):
        state, action, info = act(jax.random.fold_in(jax.random.key(key), t), state, ROUND, MEANS)
        history.append((state, int(action), info))
    return history


@pytest.mark.parametrize("append", [True, False])
def test_observations_are_appended_to_all_arms_played_before_or_to_the_one_played(append):
    history = played(PublishedULMC(append=append, batch_size=2))
    expected = np.zeros(ARMS, int)
    for t, (state, _, info) in enumerate(history):
        earlier = [action for _, action, _ in history[:t]]
        if append:
            expected += np.isin(np.arange(ARMS), earlier)
        elif earlier:
            expected[earlier[-1]] += 1
        assert np.asarray(state.counts).tolist() == expected.tolist()
        assert int(info.num_gradients) == 10 * np.count_nonzero(expected)
    state, rows = history[-1][0], np.asarray(history[-1][0].observations)
    for arm, count in enumerate(expected):
        assert np.all(rows[arm, count:] == 0)
        assert np.asarray(state.sums[arm]) == pytest.approx(rows[arm].sum(axis=0))
        assert len(np.unique(rows[arm, :count, 0])) == count  # fresh ones


def test_exact_draws_are_those_of_the_conjugate_posterior():
    """N(n mean / (n + 1), I / (n + 1)) with a prior N(0, I) and observations of variance 1."""
    agent, n = PublishedULMC(dynamics="exact", dim=2), 3
    total = jnp.array([6.0, -3.0])
    keys = jax.random.split(jax.random.key(SEED), 4000)
    zero = jnp.zeros(2)
    draws, _ = jax.vmap(lambda key: agent._move(key, zero, zero, jnp.zeros((4, 2)), total, jnp.asarray(n)))(
        keys
    )
    assert_mean(np.asarray(draws), np.asarray(total) / (n + 1))
    assert_mean((np.asarray(draws) - np.asarray(total) / (n + 1)) ** 2, np.full(2, 1 / (n + 1)))


@pytest.mark.parametrize("dynamics", ["overdamped", "underdamped"])
def test_steps_go_away_from_the_data_as_published_and_towards_them_if_mended(dynamics):
    """Ten observations at 4: the gradient of the log-posterior at x is 10 (4 - x) - x."""
    n, observations = 10, jnp.full((10, 1), 4.0)
    ends = {}
    for away in (True, False):
        agent = PublishedULMC(dynamics=dynamics, away=away, dim=1, step_size=0.02, batch_size=10)
        keys = jax.random.split(jax.random.key(SEED), 500)

        def move(key, agent=agent):
            return agent._move(
                key, jnp.zeros(1), jnp.zeros(1), observations, jnp.array([40.0]), jnp.asarray(n)
            )[0]

        ends[away] = np.asarray(jax.vmap(move)(keys)).ravel()
    assert ends[True].mean() < -0.3
    assert ends[False].mean() > 0.3
    if dynamics == "overdamped":  # x -> x + h (40 - 11 x), ten times
        x = 0.0
        for _ in range(10):
            x += 0.02 * (40 - 11 * x)
        assert_mean(ends[False], x)


def test_one_underdamped_step_by_the_published_formulas():
    agent = PublishedULMC(friction=2.0, step_size=0.1, dim=1)
    x, v, gradient, decay = 0.5, -1.0, 3.0, np.exp(-0.2)
    noise = jax.random.normal(jax.random.key(SEED), (4000, 2, 1))
    found = jax.vmap(lambda own: agent._step(own, *(jnp.array([z]) for z in (x, v, gradient))))(noise)
    assert_mean(
        np.asarray(found[0]).ravel(), x + (1 - decay) / 2 * v - (0.1 - (1 - decay) / 2) * 2 * gradient
    )
    assert_mean(np.asarray(found[1]).ravel(), v * decay - (1 - decay) / 2 * gradient)
    assert np.var(found[1]) == pytest.approx(1 - decay**2, rel=6 * np.sqrt(2 / 4000))


def test_a_batch_has_different_members_each_as_likely():
    draws = jax.vmap(lambda key: sample_without_replacement(key, jnp.asarray(5), 3, 2)[1])(
        jax.random.split(jax.random.key(SEED), 4000)
    )
    found = np.asarray(draws)
    assert all(len(set(row)) == 3 for row in found[:200].tolist())
    assert_mean((found[:, :, None] == np.arange(5)).any(axis=1).astype(float), np.full(5, 3 / 5))


def test_it_needs_arms_and_a_simulation():
    with pytest.raises(InputError, match="environment=arms"):
        PublishedULMC().start(jax.random.key(0), Sparse().shape)
    state = PublishedULMC().start(jax.random.key(0), Arms(arms=ARMS).shape)
    with pytest.raises(InputError, match="simulations only"):
        PublishedULMC().act(jax.random.key(0), state, ROUND)
