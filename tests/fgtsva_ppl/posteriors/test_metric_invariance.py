"""Chains that start in a posterior without a closed form stay in it, from round to round."""

from functools import lru_cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.montecarlo import SEED, assert_frequencies, assert_same_frequencies
from helpers.played_rounds import rest_is_slow

from fgtsva_ppl import MLP, TS, Logistic, Thompson
from fgtsva_ppl.posteriors.curvature import NUM_POINTS, update_curvature
from fgtsva_ppl.posteriors.history import ReplayBuffer
from fgtsva_ppl.types import Round, Shape
from samplers import SAMPLERS

NUM_DATA, DIM, ARMS, NUM_CHAINS, NUM_ROUNDS = 30, 2, 3, 10_000, 10
RNG = np.random.default_rng(0)
ACTIONS = 2 * RNG.normal(size=(NUM_DATA, ARMS, DIM))
CHOSEN = RNG.integers(0, ARMS, NUM_DATA)
REWARDS = RNG.uniform(size=NUM_DATA)
NEXT = Round(jnp.asarray(RNG.normal(size=(ARMS, DIM))), jnp.asarray(0.5))
OTHERS = ("smc", "polya_gamma")  # has particles; needs another likelihood
ADJUSTED = [
    name for name, cls in SAMPLERS if cls.info.exactness == "asymptotically exact" and name not in OTHERS
]
GRID = np.linspace(-15, 15, 601)
LOGISTIC, LOGISTIC_POSTERIOR = Logistic(prior_scale=3.0), TS(eta=1.0)
NETWORK, NETWORK_POSTERIOR, FEW_DATA = MLP(width=1), TS(eta=2.0), 6


def played(reward, posterior, sampler, num_data=NUM_DATA):
    """An agent and its state after some rounds of data, with a chain that never moved."""
    agent = Thompson(reward, posterior, SAMPLERS.build(sampler)).for_horizon(100)

    @jax.jit
    def play(key):
        def turn(state, t):
            round = agent.embed(Round(jnp.asarray(ACTIONS)[t], jnp.asarray(0.5)))
            return agent.update(state, round, jnp.asarray(CHOSEN)[t], jnp.asarray(REWARDS)[t]), None

        state = agent.grow(agent.start(key, Shape(ARMS, DIM, fixed_actions=False, linear=False)), 64)
        return jax.lax.scan(turn, state, jnp.arange(num_data))[0]

    return agent, play(jax.random.key(SEED))


@partial(jax.jit, static_argnames="num_rounds")
def rounds(agent, state, starts, key, num_rounds):
    """Positions (rounds, chains) of chains that each start at their own position, without new data."""
    round = agent.embed(NEXT)

    def chain(key, start):
        def turn(sampler, key):
            sampler, draw = agent.draw(key, state._replace(sampler=sampler), round)
            return sampler, draw.position

        return jax.lax.scan(turn, state.sampler._replace(position=start), jax.random.split(key, num_rounds))[
            1
        ]

    return jnp.moveaxis(jax.vmap(chain)(jax.random.split(key, len(starts)), starts), 1, 0)


@lru_cache
def grid_posterior():
    """Probabilities of the cells of a grid under the logistic posterior."""
    agent, state = played(LOGISTIC, LOGISTIC_POSTERIOR, "mala")
    logdensity = agent.target(state, agent.embed(NEXT)).logdensity
    points = jnp.asarray(np.stack(np.meshgrid(GRID, GRID, indexing="ij"), -1).reshape(-1, 2))
    logs = np.asarray(jax.jit(jax.vmap(logdensity))(points))
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def draws_from_grid(seed):
    """Exact draws, up to the width of a cell."""
    rng = np.random.default_rng(seed)
    cells = rng.choice(GRID.size**2, NUM_CHAINS, p=grid_posterior())
    width = GRID[1] - GRID[0]
    corners = np.stack(np.unravel_index(cells, (GRID.size, GRID.size)), -1)
    return jnp.asarray(GRID[corners] + width * rng.uniform(-0.5, 0.5, (NUM_CHAINS, 2)))


def coarse(positions, bins=4):
    """Counts in bins x bins cells, between the quantiles of the grid's marginals."""
    table = grid_posterior().reshape(GRID.size, GRID.size)
    width = GRID[1] - GRID[0]
    index, sums = [], []
    for axis in range(2):
        marginal = np.cumsum(table.sum(1 - axis))
        last = np.searchsorted(marginal, np.arange(1, bins) / bins)  # cells below which a bin ends
        edges = GRID[last] + width / 2
        index.append(np.searchsorted(edges, np.asarray(positions)[:, axis]))
        sums.append(np.searchsorted(last, np.arange(GRID.size), side="left"))
    probabilities = np.zeros((bins, bins))
    np.add.at(probabilities, np.ix_(*sums), table)
    counts = np.bincount(index[0] * bins + index[1], minlength=bins**2)
    return counts, probabilities.ravel()


@pytest.mark.parametrize("sampler", rest_is_slow(ADJUSTED, ("mala", "barker")))
def test_a_logistic_posterior_is_left_invariant(sampler):
    """With the metric at the chain's own position the p-values are 1e-8 (MALA), 3e-15 (HMC) and 5e-58 (Barker).

    A known defect: for MALA this fails after ten rounds with FGTSVA_TEST_SEED 4, 5, 7, 9 and 18, because each chain
    adapts its step size to its own last acceptance rates. With adaptation=none it does not.
    """
    agent, state = played(LOGISTIC, LOGISTIC_POSTERIOR, sampler)
    starts = draws_from_grid(SEED)
    assert_frequencies(*coarse(starts))
    positions = rounds(agent, state, starts, jax.random.key(SEED), NUM_ROUNDS)
    for after in (1, NUM_ROUNDS):
        assert_frequencies(*coarse(positions[after - 1]))
    assert np.mean(np.any(positions[-1] != starts, axis=1)) > 0.99


def test_a_metric_from_the_chain_own_past_leaves_the_posterior_invariant():
    """The metric and the step size learn from the chain in all rounds; the new data have no weight."""
    agent, state = played(LOGISTIC, LOGISTIC_POSTERIOR, "mala")
    round = agent.embed(NEXT)
    datum = ReplayBuffer(NEXT.actions[:1], jnp.zeros(1), jnp.zeros(1))

    @jax.jit
    def play(key, start):
        def turn(state, key):
            sampler, _ = agent.draw(key, state, round)
            actions, nothing = round.round.actions, jnp.zeros(())
            history = state.history.added(actions, jnp.asarray(0), nothing, nothing, nothing)
            history = update_curvature(
                agent.posterior, round.model, history, datum, sampler.position, coordinates=None
            )
            return state._replace(history=history, sampler=sampler), None

        begin = state._replace(sampler=state.sampler._replace(position=start))
        end, _ = jax.lax.scan(turn, begin, jax.random.split(key, NUM_POINTS))
        return end.sampler.position, agent.target(end, round).metric()

    keys = jax.random.split(jax.random.key(SEED), NUM_CHAINS)
    positions, metrics = jax.vmap(play)(keys, draws_from_grid(SEED))
    assert np.all(np.std(np.asarray(metrics), axis=0) > 0.01)  # the metrics are the chains' own
    assert_frequencies(*coarse(positions))


@lru_cache
def draws_by_rejection(number, seed):
    """Exact draws from the network's posterior: draws from the prior, accepted with probability exp(-loss)."""
    agent, state = played(NETWORK, NETWORK_POSTERIOR, "mala", FEW_DATA)
    model, history = agent.embed(NEXT).model, state.history.padded_with(NEXT.actions)

    @jax.jit
    def propose(key):
        def one(key):
            draw_key, accept_key = jax.random.split(key)
            draw = model.draw(draw_key)
            loss = agent.posterior.loss(history, history.data, model.function(draw))
            return draw, jnp.log(jax.random.uniform(accept_key)) < -loss

        return jax.vmap(one)(jax.random.split(key, 100_000))

    accepted = []
    while sum(map(len, accepted)) < number:
        draws, accept = propose(jax.random.fold_in(jax.random.key(seed), len(accepted)))
        accepted.append(np.asarray(draws)[np.asarray(accept)])
    return np.concatenate(accepted)[:number]


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ADJUSTED)
def test_the_posterior_of_a_network_is_left_invariant(sampler):
    agent, state = played(NETWORK, NETWORK_POSTERIOR, sampler, FEW_DATA)
    starts = jnp.asarray(draws_by_rejection(NUM_CHAINS, SEED))
    exact = draws_by_rejection(4 * NUM_CHAINS, SEED + 1000)
    model = agent.embed(NEXT).model

    def features(positions):
        """A reward and the distance from the origin, which the symmetries of a network do not change."""
        values = jax.vmap(lambda x: model.function(x)(NEXT.actions)[0])(jnp.asarray(positions))
        return np.stack([values, np.linalg.norm(positions, axis=-1)], axis=-1)

    edges = np.quantile(features(exact), [0.2, 0.4, 0.6, 0.8], axis=0)

    def counts(positions):
        first, second = (np.searchsorted(edges[:, i], features(positions)[:, i]) for i in range(2))
        return np.bincount(5 * first + second, minlength=25)

    positions = rounds(agent, state, starts, jax.random.key(SEED), NUM_ROUNDS)
    for after in (1, NUM_ROUNDS):
        assert_same_frequencies(counts(positions[after - 1]), counts(exact))
    assert np.mean(np.any(positions[-1] != starts, axis=1)) > 0.99
