"""The reward `neural_linear`: the posterior of the last layer, on features that change whenever the network does."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.played_rounds import quick_jit

from fgtsva_ppl import MALA, TS, Contextual, Exact, InputError, Thompson
from fgtsva_ppl.agents import Greedy
from fgtsva_ppl.posteriors import FGTSA
from fgtsva_ppl.rewards import NeuralLinear
from fgtsva_ppl.simulation import check
from fgtsva_ppl.types import Round, Shape

DIM, ARMS, ROUNDS = 2, 3, 7
SHAPE = Shape(ARMS, DIM, fixed_actions=False, linear=False)
ACTIONS = np.random.default_rng(0).normal(size=(ROUNDS + 1, ARMS, DIM))
REWARDS = np.random.default_rng(1).normal(size=ROUNDS)
KEY = jax.random.key(0)
TINY = {"width": 2, "refit_every": 3, "train_steps": 4, "batch_size": 4}


@quick_jit
def played(agent: Thompson, key: Any) -> tuple[Any, Any, Any]:
    def turn(state: Any, row: Any) -> Any:
        t, actions, reward = row
        round = agent.represent(state, agent.embed(Round(actions, jnp.asarray(0.5))))
        state, action, info = agent.act(jax.random.fold_in(key, t), state, round)
        return agent.update(state, round, action, reward), (action, info)

    state = agent.grow(agent.start(key, SHAPE), ROUNDS)
    rows = (jnp.arange(ROUNDS), jnp.asarray(ACTIONS[:-1]), jnp.asarray(REWARDS))
    state, (action, info) = jax.lax.scan(turn, state, rows)
    return state, action, info


@pytest.mark.parametrize(("heads", "sampler"), [("shared", MALA(num_steps=2)), ("disjoint", Exact())])
def test_the_posterior_is_linear_regression_on_the_newest_features(heads: str, sampler: Any) -> None:
    reward = NeuralLinear(**TINY, heads=heads, prior_scale=0.7)
    agent = Thompson(reward, TS(eta=1.5), sampler)
    state, action, info = played(agent, KEY)
    learned = state.history.learned
    rows = ACTIONS[np.arange(ROUNDS), np.asarray(action)]
    np.testing.assert_array_equal(learned.rows.features, rows)
    first = learned.network[0]
    units = np.maximum(rows @ np.asarray(first.weights) + np.asarray(first.bias), 0)
    units = np.column_stack([units, np.ones(ROUNDS)])
    if heads == "disjoint":
        units = np.stack([np.kron(np.eye(ARMS)[a], row) for a, row in zip(action, units, strict=True)])
    precision = np.eye(units.shape[1]) / 0.49 + 2 * 1.5 * units.T @ units
    shift = 2 * 1.5 * units.T @ REWARDS
    seen = agent.represent(state, agent.embed(Round(jnp.asarray(ACTIONS[-1]), jnp.asarray(0.5))))
    target = agent.target(state, seen)
    np.testing.assert_allclose(target.gaussian.precision, precision, atol=1e-10)
    np.testing.assert_allclose(target.gaussian.shift, shift, atol=1e-10)
    mean = target.moments()[0]  # kept by rank-one updates between two trainings, if the sampler uses them
    np.testing.assert_allclose(mean, np.linalg.solve(precision, shift), atol=1e-10)
    # Trained after rounds 3 and 6, counted in the next one.
    extra = np.asarray(info.num_gradients) - np.asarray(info.num_gradients)[0]
    np.testing.assert_array_equal(extra, [0, 0, 0, 4, 0, 0, 4])
    # The best arm of a position is that of the features in use.
    position = np.linspace(-1, 1, units.shape[1])
    assert agent.best(jnp.asarray(position), seen) == np.argmax(np.asarray(seen.round.actions) @ position)


def test_without_hidden_layers_it_is_a_linear_reward_with_an_intercept() -> None:
    agent = Thompson(NeuralLinear(depth=0, refit_every=2, train_steps=1), TS(), Exact())
    seen = agent.represent(
        agent.start(KEY, SHAPE), agent.embed(Round(jnp.asarray(ACTIONS[0]), jnp.asarray(0.5)))
    )
    np.testing.assert_allclose(seen.round.actions, np.column_stack([ACTIONS[0], np.ones(ARMS)]))


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        (Thompson(NeuralLinear(), FGTSA()), "keeps no past action sets"),
        (Greedy(NeuralLinear()), "linear in its features"),
    ],
    ids=["past", "greedy"],
)
def test_what_needs_fixed_features_is_refused(agent: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check(Contextual(dim=2, arms=3), agent, 10)
