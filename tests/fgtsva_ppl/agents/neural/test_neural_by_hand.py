"""Neural agents on cases that are small enough for a closed form: linear networks, few rounds, fixed weights."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.montecarlo import SEED, assert_frequencies, assert_mean, moments
from helpers.played_rounds import quick_jit, rest_is_slow

from fgtsva_ppl import Contextual, simulate
from fgtsva_ppl.agents import (
    AGENTS,
    BootstrappedEnsemble,
    Dropout,
    EnsemblePlusPlus,
    NeuralLinear,
    NeuralTS,
    NeuralUCB,
)
from fgtsva_ppl.agents.neural import NeuralAgent
from fgtsva_ppl.agents.neural.ensemble_plus_plus import Hypermodel
from fgtsva_ppl.agents.neural.neural_linear import LastLayer
from fgtsva_ppl.agents.ridge import ridge
from fgtsva_ppl.networks import Batch, Layer, minibatch
from fgtsva_ppl.types import Round, Shape
from samplers.errors import InputError

DIM, ARMS, ROUNDS = 2, 3, 7
SHAPE = Shape(ARMS, DIM, fixed_actions=False, linear=False)
ACTIONS = np.random.default_rng(0).normal(size=(ROUNDS + 1, ARMS, DIM))
REWARDS = np.random.default_rng(1).normal(size=ROUNDS)
NEXT = Round(jnp.asarray(ACTIONS[-1]), jnp.asarray(0.1))
KEY = jax.random.key(SEED)
TINY = {"width": 2, "refit_every": 3, "train_steps": 4, "batch_size": 4, "initial_pulls": 0}
SMALL_ENSEMBLE = {"members": 3}
QUICK = ("neural_linear", "neural_ucb", "bootstrapped_ensemble", "ensemble_plus_plus")
ENSEMBLES = ("bootstrapped_ensemble", "randomised_prior")
NEURAL = [name for name, cls in AGENTS if issubclass(cls, NeuralAgent)]


@quick_jit
def played(agent: NeuralAgent, key: Any) -> tuple[Any, Any, Any]:
    """The state after all rounds, the actions, and what each round cost."""

    def turn(state: Any, row: Any) -> Any:
        t, actions, reward = row
        round = Round(actions, jnp.asarray(0.1))
        state, action, info = agent.act(jax.random.fold_in(key, t), state, round)
        return agent.update(state, round, action, reward), (action, info)

    state = agent.grow(agent.start(key, SHAPE), ROUNDS)
    rows = (jnp.arange(ROUNDS), jnp.asarray(ACTIONS[:-1]), jnp.asarray(REWARDS))
    state, (action, info) = jax.lax.scan(turn, state, rows)
    return state, action, info


def pulled(action: Any) -> np.ndarray:
    """The features of the arms that were pulled, and a one."""
    rows = ACTIONS[np.arange(ROUNDS), np.asarray(action)]
    return np.column_stack([rows, np.ones(ROUNDS)])


@pytest.mark.parametrize("name", rest_is_slow(NEURAL, QUICK))
def test_every_neural_agent_plays_and_counts_its_gradients(name: str) -> None:
    agent = AGENTS.build(name, TINY | (SMALL_ENSEMBLE if name in ENSEMBLES else {}))
    state, action, info = played(agent, KEY)
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(state))
    assert np.all((action >= 0) & (action < ARMS))
    assert not np.any(info.num_resets)
    # Trained after rounds 3 and 6: counted in the next one, four steps for each network, beside the decision's own.
    networks = 3 if name in ENSEMBLES else 1
    own = ARMS + 1 if name in ("neural_ucb", "neural_ts") else 0
    np.testing.assert_array_equal(info.num_gradients, own + 4 * networks * np.array([0, 0, 0, 1, 0, 0, 1]))
    assert agent.expected_gradients == -(-4 * networks // 3)
    # The same key, the same run; all rounds are stored in order.
    np.testing.assert_array_equal(played(agent, KEY)[1], action)
    np.testing.assert_array_equal(state.rows.features, pulled(action)[:, :-1])
    np.testing.assert_array_equal(state.rows.arms, action)
    changed = [
        np.any(a != b) for a, b in zip(*map(jax.tree.leaves, (state.params, state.initial)), strict=True)
    ]
    assert any(changed)


def test_arms_are_pulled_in_turn_at_first() -> None:
    agent = NeuralUCB(**TINY | {"initial_pulls": 2})
    np.testing.assert_array_equal(played(agent, KEY)[1][:6], [0, 1, 2, 0, 1, 2])


def test_training_is_gradient_descent_on_the_penalised_loss() -> None:
    agent = NeuralUCB(
        depth=0, refit_every=3, train_steps=2, initial_pulls=0, optimizer="sgd", lam=0.5,
        learning_rate=0.1, learning_rate_decay=1.0,
    )  # fmt: skip
    state, action, _ = played(agent, KEY)
    rows, (layer,) = pulled(action), jax.tree.map(np.asarray, state.initial)
    first = np.append(layer.weights[:, 0], layer.bias)
    theta = first.copy()
    for n in (3, 6):
        for step in range(2):
            residual = rows[:n] @ theta - REWARDS[:n]
            theta -= 0.1 / (1 + step) * (rows[:n].T @ residual + 0.5 * (theta - first)) / n
    np.testing.assert_allclose(np.append(state.params[0].weights[:, 0], state.params[0].bias), theta)


def test_a_minibatch_has_every_row_once_until_there_are_too_many() -> None:
    rows = Batch(jnp.arange(8.0)[:, None], jnp.arange(8), jnp.arange(8.0), jnp.ones(8))
    np.testing.assert_array_equal(minibatch(KEY, rows, jnp.asarray(3), 4).arms, [0, 1, 2, 3])
    drawn = jax.vmap(lambda key: minibatch(key, rows, jnp.asarray(5), 4).arms)(jax.random.split(KEY, 2000))
    assert_frequencies(np.bincount(np.ravel(drawn), minlength=8)[:5], np.full(5, 0.2))
    assert np.max(drawn) == 4


# NeuralLinear


@pytest.mark.parametrize("heads", rest_is_slow(("shared", "disjoint"), ["shared"]))
def test_the_regression_of_neural_linear_is_of_all_rounds_at_the_newest_features(heads: str) -> None:
    agent = NeuralLinear(**TINY, heads=heads)
    state, action, _ = played(agent, KEY)
    rows, first = pulled(action)[:, :-1], state.params[0]
    units = np.maximum(rows @ np.asarray(first.weights) + np.asarray(first.bias), 0)
    units = np.column_stack([units, np.ones(ROUNDS)])
    for head in range(ARMS if heads == "disjoint" else 1):
        own = np.asarray(action) == head if heads == "disjoint" else np.full(ROUNDS, True)
        last = jax.tree.map(lambda x, head=head: x[head], state.extra)
        np.testing.assert_allclose(last.gram, units[own].T @ units[own], atol=1e-12)
        np.testing.assert_allclose(last.moment, units[own].T @ REWARDS[own], atol=1e-12)
        np.testing.assert_allclose(last.square, REWARDS[own] @ REWARDS[own], atol=1e-12)
        assert last.num_rows == np.sum(own)


@pytest.mark.parametrize("variance", ["known", "inverse_gamma"])
def test_neural_linear_draws_from_the_conjugate_posterior(variance: str) -> None:
    """Without hidden layers it is Bayesian linear regression; Cov(beta) = b/(a - 1) P^-1 if s^2 is unknown."""
    rows = np.column_stack([ACTIONS[:ROUNDS, 0], np.ones(ROUNDS)])
    agent = NeuralLinear(depth=0, variance=variance, lam=0.5, a0=3.0, b0=2.0, sigma=0.7)
    state = agent.start(KEY, SHAPE)
    last = LastLayer.of(jnp.asarray(rows), jnp.asarray(REWARDS), jnp.ones((ROUNDS, 1)))
    precision = 0.5 * np.eye(3) + rows.T @ rows
    mean = np.linalg.solve(precision, rows.T @ REWARDS)
    a, b = 3 + ROUNDS / 2, 2 + (REWARDS @ REWARDS - mean @ precision @ mean) / 2
    scale = 0.49 if variance == "known" else b / (a - 1)
    draws = np.asarray(jax.vmap(lambda key: agent.draw(key, last))(jax.random.split(KEY, 8000)))[:, 0]
    expected = np.concatenate([np.zeros(3), (scale * np.linalg.inv(precision))[np.triu_indices(3)]])
    assert_mean(moments(draws - mean), expected)
    # The score of an arm is <beta, (x, 1)> with one beta for all of them.
    beta = agent.draw(KEY, last)[0]
    scores = agent.scores(KEY, state._replace(extra=last), NEXT)
    np.testing.assert_allclose(scores, np.column_stack([ACTIONS[-1], np.ones(ARMS)]) @ np.asarray(beta))


# NeuralUCB and NeuralTS


@quick_jit
def widths_after(agent: NeuralUCB, action: Any) -> tuple[Any, Any]:
    """The widths of the next round's arms after all rounds, and its scores."""
    state = agent.start(KEY, SHAPE)
    for t in range(ROUNDS):
        state = agent.before_update(state, Round(jnp.asarray(ACTIONS[t]), jnp.asarray(0.1)), action[t])
    return agent.deviations(state, NEXT), agent.scores(KEY, state, NEXT) - agent.means(state, NEXT)


def test_a_linear_network_has_the_bonus_of_linucb() -> None:
    action = np.arange(ROUNDS) % ARMS
    arms, rows = np.column_stack([ACTIONS[-1], np.ones(ARMS)]), pulled(action)
    regression = ridge(DIM + 1, 0.3)
    for row, reward in zip(rows, REWARDS, strict=True):
        regression = regression.added(jnp.asarray(row), jnp.asarray(reward), jnp.ones(()))
    agent = NeuralUCB(depth=0, matrix="full", lam=0.3, gamma=1.7)
    widths, bonus = widths_after(agent, jnp.asarray(action))
    np.testing.assert_allclose(widths, regression.norms(jnp.asarray(arms)), rtol=1e-10)
    np.testing.assert_allclose(bonus, 1.7 * widths, rtol=1e-9)
    # The diagonal alone, which ignores how the features go together
    widths, _ = widths_after(NeuralUCB(depth=0, matrix="diagonal", lam=0.3), jnp.asarray(action))
    np.testing.assert_allclose(widths, np.sqrt(np.sum(arms**2 / (0.3 + np.sum(rows**2, axis=0)), axis=1)))


def test_features_are_gradients_over_the_root_of_the_width() -> None:
    agent = NeuralUCB(width=3, activation="tanh", heads="disjoint")
    network = agent.start(KEY, SHAPE).params
    arm, step = 2, 1e-6
    leaves, structure = jax.tree.flatten(network)
    flat = np.concatenate([np.ravel(leaf) for leaf in leaves])
    splits = np.cumsum([leaf.size for leaf in leaves])[:-1]

    def value(weights: np.ndarray) -> float:
        parts = [
            part.reshape(leaf.shape) for part, leaf in zip(np.split(weights, splits), leaves, strict=True)
        ]
        moved = jax.tree.unflatten(structure, list(map(jnp.asarray, parts)))
        return float(agent.predict(moved, NEXT.actions[arm][None], jnp.array([arm]))[0])

    differences = [(value(flat + h) - value(flat - h)) / (2 * step) for h in step * np.eye(flat.size)]
    features = agent.features(network, NEXT.actions, jnp.arange(ARMS))[arm]
    np.testing.assert_allclose(features, np.array(differences) / 3**0.5, atol=1e-8)


def test_neural_ts_draws_independent_scores_with_the_width_as_their_deviation() -> None:
    """One arm with feature 2 and a bias, pulled once: g = (2, 1), Z = 0.5 I + g g', g' Z^-1 g = 5 / (0.5 + 5)."""
    agent = NeuralTS(depth=0, matrix="full", lam=0.5, nu=3.0)
    one = Round(jnp.array([[2.0], [2.0]]), jnp.asarray(0.1))
    state = agent.start(KEY, Shape(2, 1, fixed_actions=True, linear=True))
    np.testing.assert_allclose(agent.deviations(state, one), np.sqrt(5 / 0.5))
    state = agent.before_update(state, one, jnp.asarray(0))
    np.testing.assert_allclose(agent.deviations(state, one), np.sqrt(5 / 5.5))
    scores = jax.vmap(lambda key: agent.scores(key, state, one))(jax.random.split(KEY, 4000))
    mean, variance = np.asarray(agent.means(state, one)), 9 * 0.5 * 5 / 5.5
    assert_mean(moments(np.asarray(scores) - mean), np.array([0, 0, variance, 0, variance]))


def test_a_full_matrix_that_does_not_fit_is_refused() -> None:
    agent = NeuralTS(matrix="full", width=100, depth=2)
    with pytest.raises(InputError, match=r"matrix=full with 10501 parameters .* use matrix=diagonal"):
        jax.eval_shape(lambda: agent.start(KEY, SHAPE))


# Ensembles


def test_bootstrap_weights_have_mean_one_and_variance_one() -> None:
    for bootstrap, values in (("double_or_nothing", {0.0, 2.0}), ("poisson", {0.0, 1.0, 2.0})):
        agent = BootstrappedEnsemble(members=3, bootstrap=bootstrap)
        weights = np.asarray(jax.vmap(agent.draw_weights)(jax.random.split(KEY, 4000)))
        assert values <= {*np.ravel(weights).tolist()}
        assert_mean(moments(weights - 1), np.array([0, 0, 0, 1, 0, 0, 1, 0, 1]))
    np.testing.assert_array_equal(
        BootstrappedEnsemble(members=3, bootstrap="none").draw_weights(KEY), np.ones(3)
    )


def test_a_member_learns_from_its_own_weights_and_rewards_only() -> None:
    agent = BootstrappedEnsemble(**TINY, **SMALL_ENSEMBLE, prior_scale=2.0, noise_scale=0.5)
    state, _, _ = played(agent, KEY)
    assert {*np.ravel(state.rows.weights).tolist()} == {0.0, 2.0}
    noise = np.asarray(state.rows.targets) - REWARDS[:, None]
    assert np.all(noise != 0)
    assert np.ptp(noise, axis=1).min() > 0
    weights = jnp.zeros((ROUNDS, 3)).at[4, 1].set(2.0)
    gradient = jax.grad(agent.loss, argnums=2)(KEY, state, state.params, state.rows._replace(weights=weights))
    norms = sum(np.abs(leaf).reshape(3, -1).sum(1) for leaf in jax.tree.leaves(gradient))
    assert norms[0] == norms[2] == 0 < norms[1]
    # d loss / d bias of the output = weight / rows (g + 2 p - target), by hand
    arms, features = state.rows.arms[4:5], state.rows.features[4:5]
    trained, prior = jax.tree.map(lambda leaf: leaf[1], (state.params, state.extra.priors))
    fitted = agent.predict(trained, features, arms) + 2.0 * agent.predict(prior, features, arms)
    by_hand = 2 / ROUNDS * (fitted - state.rows.targets[4, 1])
    np.testing.assert_allclose(gradient[-1].bias[1], by_hand)


def test_an_ensemble_of_one_without_prior_is_the_greedy_network() -> None:
    agent = BootstrappedEnsemble(**TINY, members=1, bootstrap="none")
    state = agent.start(KEY, SHAPE)
    network = jax.tree.map(lambda leaf: leaf[0], state.params)
    values = agent.predict(network, NEXT.actions, jnp.arange(ARMS))
    for key in jax.random.split(KEY, 3):
        np.testing.assert_allclose(agent.scores(key, state, NEXT), values)
    # Its loss is that of the network without dropped units
    targets = jnp.asarray(REWARDS[:4, None])
    rows = Batch(jnp.asarray(ACTIONS[:4, 0]), jnp.zeros(4, int), targets, jnp.ones((4, 1)))
    batch = rows._replace(targets=rows.targets[:, 0], weights=rows.weights[:, 0])
    np.testing.assert_allclose(
        Dropout(**TINY, rate=0.0).loss(KEY, state, network, batch), agent.loss(KEY, state, state.params, rows)
    )


def test_ensemble_plus_plus_has_the_covariance_of_the_regression() -> None:
    """A linear network: the loss has its minimum at the closed form, whose A A' is sigma^2 P^-1 on average."""
    rows = np.column_stack([ACTIONS[:ROUNDS, 0], np.ones(ROUNDS)])
    agent = EnsemblePlusPlus(depth=0, members=4, lam=0.5, sigma=0.7)
    precision = 0.5 * np.eye(3) + rows.T @ rows

    def solved(key: Any) -> tuple[Any, Any, Any]:
        state = agent.start(key, SHAPE)
        directions = jax.vmap(lambda own: agent.act(own, state, NEXT)[0].extra)(jax.random.split(key, ROUNDS))
        shift = 0.5 * state.params.factor[0] + 0.7 * jnp.asarray(rows).T @ directions
        return state, directions, jnp.linalg.solve(jnp.asarray(precision), shift)

    state, directions, factor = solved(KEY)
    np.testing.assert_allclose(np.linalg.norm(directions, axis=1), 1)
    theta = jnp.asarray(np.linalg.lstsq(rows, REWARDS)[0])
    best = Hypermodel((Layer(theta[:2, None], theta[2:]),), factor[None])
    targets = jnp.column_stack([jnp.asarray(REWARDS), 0.7 * directions])
    batch = Batch(jnp.asarray(rows[:, :2]), jnp.zeros(ROUNDS, int), targets, jnp.ones_like(targets))

    def loss(params: Hypermodel) -> Any:
        return agent.loss(KEY, state, params, batch) + agent.penalty(params, state.initial) / ROUNDS

    for leaf in jax.tree.leaves(jax.grad(loss)(best)):
        np.testing.assert_allclose(leaf, 0, atol=1e-12)
    covariances = jax.vmap(lambda key: (lambda a: a @ a.T)(solved(key)[2]))(jax.random.split(KEY, 4000))
    assert_mean(np.asarray(covariances).reshape(-1, 9), 0.49 * np.linalg.inv(precision).ravel())
    scores = jax.vmap(lambda key: agent.scores(key, state._replace(params=best), NEXT))(
        jax.random.split(KEY, 4000)
    )
    arms = np.column_stack([ACTIONS[-1], np.ones(ARMS)])
    spread = arms @ np.asarray(factor @ factor.T) @ arms.T
    expected = np.concatenate([np.zeros(ARMS), spread[np.triu_indices(ARMS)]])
    assert_mean(moments(np.asarray(scores) - arms @ np.asarray(theta)), expected)


# Dropout


def test_dropout_keeps_units_independently_and_preserves_their_mean() -> None:
    agent, units = Dropout(rate=0.3), jnp.ones((2, 3))
    keys = jax.random.split(KEY, 4000)
    own = np.asarray(jax.vmap(lambda key: agent.mask(key, 0, units, shared=False))(keys)).reshape(-1, 6)
    assert np.allclose(np.unique(own), [0, 1 / 0.7])
    variance = 0.3 / 0.7
    assert_mean(moments(own - 1), np.concatenate([np.zeros(6), variance * np.eye(6)[np.triu_indices(6)]]))
    shared = np.asarray(agent.mask(KEY, 1, jnp.ones((50, 3)), shared=True))
    assert np.ptp(shared, axis=0).max() == 0
    assert np.any(
        agent.mask(KEY, 0, jnp.ones((1, 50)), shared=True)
        != agent.mask(KEY, 1, jnp.ones((1, 50)), shared=True)
    )


def test_one_function_is_drawn_for_all_arms() -> None:
    """Two arms with equal features have equal scores, whatever units are dropped."""
    agent = Dropout(width=8, rate=0.5)
    state = agent.start(KEY, SHAPE)
    twins = Round(jnp.ones((ARMS, DIM)), jnp.asarray(0.1))
    scores = jax.vmap(lambda key: agent.scores(key, state, twins))(jax.random.split(KEY, 20))
    assert np.ptp(scores, axis=1).max() == 0
    assert np.ptp(scores[:, 0]) > 0


@pytest.mark.parametrize(
    ("agent", "values", "message"),
    [
        ("neural_linear", {"variance": "gamma"}, "variance='gamma' is not one of: inverse_gamma, known"),
        ("neural_ucb", {"matrix": "dense"}, "matrix='dense' is not one of: diagonal, full"),
        ("neural_ts", {"refit_every": 0}, "refit_every=0 must be a whole number"),
        ("bootstrapped_ensemble", {"members": 0}, "members=0 must be a whole number"),
        ("randomised_prior", {"learning_rate": 0.0}, "learning_rate=0.0 must be a number"),
        ("dropout", {"rate": 1.0}, "rate=1.0 must be a number"),
        ("ensemble_plus_plus", {"optimizer": "lion"}, "optimizer='lion' is not one of: adam, rmsprop, sgd"),
    ],
)
def test_bad_settings_give_one_line(agent: str, values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        AGENTS.build(agent, values)


@pytest.mark.slow
@pytest.mark.parametrize("name", NEURAL)
def test_a_run_does_not_depend_on_the_runs_beside_it(name: str) -> None:
    agent, environment = AGENTS.build(name, TINY), Contextual(dim=DIM, arms=ARMS)
    together = simulate(environment, agent, rounds=8, runs=3)
    alone = simulate(environment, agent, rounds=8, runs=1, first_run=2)
    np.testing.assert_array_equal(together.action[2:], alone.action)
    np.testing.assert_array_equal(together.regret[2:], alone.regret)
    np.testing.assert_array_equal(together.num_gradients[2:], alone.num_gradients)
