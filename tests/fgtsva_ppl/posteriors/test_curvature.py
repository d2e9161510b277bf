"""The averaged curvature of posteriors without a closed form."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.played_rounds import PlainLinear

from fgtsva_ppl import FGTSVA, HMC, MLP, PSGLD, Hierarchical, Logistic, Thompson
from fgtsva_ppl.posteriors import curvature
from fgtsva_ppl.posteriors.curvature import NUM_POINTS, full_precision, is_due, metric, num_gradients
from fgtsva_ppl.types import Round, Shape

ARMS, DIM, ROUNDS = 3, 2, 40
SHAPE = Shape(ARMS, DIM, fixed_actions=False, linear=False)
RNG = np.random.default_rng(0)
ACTIONS = RNG.normal(size=(ROUNDS, ARMS, DIM))
CHOSEN = RNG.integers(0, ARMS, ROUNDS)
REWARDS = RNG.uniform(size=ROUNDS)
POSITIONS = RNG.normal(size=(ROUNDS, 100))


def played(reward, variance="revealed", sampler=None, rounds=ROUNDS, capacity=64):
    """The agent, its model, its history and the points before each round; the chain is moved by hand."""
    agent = Thompson(reward, FGTSVA(alpha=0.2, variance=variance), sampler or HMC())
    model = agent.model(ARMS, DIM)

    @jax.jit
    def play(key):
        def turn(state, t):
            position = jnp.asarray(POSITIONS)[t, : model.size]
            state = state._replace(sampler=state.sampler._replace(position=position))
            round = agent.embed(Round(jnp.asarray(ACTIONS)[t], jnp.asarray(0.5)))
            after = agent.update(state, round, jnp.asarray(CHOSEN)[t], jnp.asarray(REWARDS)[t])
            return after, state.history.curvature_cache.points

        state = agent.grow(agent.start(key, SHAPE), capacity)
        return jax.lax.scan(turn, state, jnp.arange(rounds))

    state, points = play(jax.random.key(0))
    return agent, model, state.history, np.asarray(points)


def at(agent, model, history, position, rounds):
    """The curvature of the first rounds' loss at a position, from all of them."""
    start = agent.grow(agent.start(jax.random.key(0), SHAPE), 64).history
    for t in range(rounds):
        round = agent.embed(Round(jnp.asarray(ACTIONS)[t], jnp.asarray(0.5))).round
        weight = agent.posterior.weight(round.sigma)
        start = start.added(
            round.actions, jnp.asarray(CHOSEN[t]), jnp.asarray(REWARDS)[t], weight, jnp.zeros(())
        )
    padded = start.padded_with(round.actions)
    return np.asarray(agent.posterior.curvature(model, padded, padded.data, jnp.asarray(position)))


@pytest.mark.parametrize(
    ("reward", "variance"),
    [(MLP(width=2), "revealed"), (Hierarchical(), "revealed"), (Logistic(), "modelled")],
    ids=["rows", "sums", "modelled"],
)
def test_the_average_is_the_one_described(reward, variance):
    """Recomputed from all data: a new datum at all points, then 1/NUM_POINTS of all data at the chain's position."""
    rounds = 5
    agent, model, history, points = played(reward, variance, rounds=rounds)
    expected = np.zeros((model.size, model.size))
    for t in range(rounds):
        new = [
            at(agent, model, history, point, t + 1) - (at(agent, model, history, point, t) if t else 0)
            for point in points[t]
        ]
        here = at(agent, model, history, POSITIONS[t, : model.size], t + 1)
        expected = expected + np.mean(new, axis=0)
        expected = expected + (here - expected) / NUM_POINTS
    np.testing.assert_allclose(history.curvature_cache.curvature, expected, rtol=1e-8, atol=1e-8)


def test_where_the_curvature_is_constant_the_metric_is_the_precision():
    agent, model, history, _ = played(PlainLinear())
    padded = history.padded_with(jnp.asarray(ACTIONS[0]))
    exact = full_precision(agent.posterior, model, padded, jnp.zeros(model.size))
    np.testing.assert_allclose(metric(agent.posterior, model, padded), exact, rtol=1e-9)
    without = padded._replace(curvature_cache=None)
    np.testing.assert_allclose(metric(agent.posterior, model, without), exact, rtol=1e-9)


@pytest.mark.parametrize("size", [16, 24])
def test_blocks_of_rows_add_up(monkeypatch, size):
    _, _, whole, _ = played(MLP(width=2))
    monkeypatch.setattr(curvature, "ROWS_PER_BLOCK", size)
    _, _, blocks, _ = played(MLP(width=2))
    np.testing.assert_allclose(
        blocks.curvature_cache.curvature, whole.curvature_cache.curvature, rtol=1e-10, atol=1e-10
    )


def test_many_parameters_keep_the_diagonal(monkeypatch):
    _, _, dense, _ = played(MLP(width=2))
    monkeypatch.setattr(curvature, "MAX_DENSE", 3)
    agent, model, history, _ = played(MLP(width=2))
    diagonal = np.diagonal(dense.curvature_cache.curvature)
    np.testing.assert_allclose(history.curvature_cache.curvature, diagonal, rtol=1e-10)
    root = np.sqrt(np.diagonal(model.prior_precision) + diagonal)
    state = agent.start(jax.random.key(0), SHAPE)._replace(history=history)
    target = agent.target(state, agent.embed(Round(jnp.asarray(ACTIONS[0]), jnp.asarray(0.5))))
    preconditioned = agent.sampler.precondition(target, jnp.zeros(model.size))
    np.testing.assert_allclose(preconditioned.from_target(jnp.ones(model.size)), root, rtol=1e-10)
    assert preconditioned.curvature == 1.0


def test_all_data_are_evaluated_ever_more_rarely():
    rounds = np.arange(1, 1025)
    due = np.asarray(jax.vmap(is_due)(jnp.asarray(rounds)))
    assert np.all(due[: 2 * NUM_POINTS])
    for start in (64, 128, 512):
        assert np.sum(due[start - 1 : 2 * start - 1]) == NUM_POINTS
    assert num_gradients(jnp.asarray(0), stiffness=True) == 0
    assert num_gradients(jnp.asarray(1), stiffness=False) == NUM_POINTS + 1
    counts = jax.vmap(lambda t: num_gradients(t, stiffness=False))(jnp.asarray(rounds))
    assert np.sum(counts) < 2 * rounds.size


def test_stiffness_is_the_largest_eigenvalue_of_the_whitened_hessian():
    agent, model, history, _ = played(MLP(width=2), sampler=PSGLD(), rounds=32)
    padded = history.padded_with(jnp.asarray(ACTIONS[0]))
    root = np.linalg.cholesky(metric(agent.posterior, model, padded))
    log_prior = model.logdensity(model.program)

    def logdensity(x):
        return log_prior(x) - agent.posterior.loss(padded, padded.data, model.function(x))

    largest = 0.0
    for point in POSITIONS[[30, 31], : model.size]:
        hessian = np.linalg.solve(root, np.linalg.solve(root, jax.hessian(logdensity)(jnp.asarray(point))).T)
        largest = max(largest, np.max(np.abs(np.linalg.eigvalsh(hessian))))
    # Power iterations come from below.
    assert 0.8 * largest < history.curvature_cache.stiffness <= largest * (1 + 1e-9)
