"""Minibatch gradients with a control variate at a running mode."""

import re
from functools import lru_cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.montecarlo import SEED, assert_mean
from helpers.played_rounds import rest_is_slow

from fgtsva_ppl import FGTSVA, MLP, SGLD, Contextual, InputError, Linear, Logistic, Thompson
from fgtsva_ppl.posteriors import VARIANCE_MODELS
from fgtsva_ppl.posteriors.history import empty
from fgtsva_ppl.posteriors.loss import gauss_newton
from fgtsva_ppl.posteriors.minibatch import loss_gradient
from fgtsva_ppl.rewards import flat_model
from fgtsva_ppl.simulation import check
from fgtsva_ppl.types import Round
from samplers import Laplace

ENVIRONMENT = Contextual(dim=2, arms=3)
ROUNDS, FRESH, BATCH, MANY = 30, 5, 4, 4000
RNG = np.random.default_rng(0)
ACTIONS = RNG.normal(size=(ROUNDS + FRESH, 3, 2))
ARMS = RNG.integers(0, 3, ROUNDS + FRESH)
REWARDS = RNG.uniform(size=ROUNDS + FRESH)
NEXT = Round(jnp.asarray(RNG.normal(size=(3, 2))), jnp.asarray(0.5))


@partial(jax.jit, static_argnames=("start", "end"))
def updated(agent, state, start, end):
    def turn(state, t):
        round = agent.embed(Round(jnp.asarray(ACTIONS)[t], jnp.asarray(0.5)))
        return agent.update(state, round, jnp.asarray(ARMS)[t], jnp.asarray(REWARDS)[t]), None

    return jax.lax.scan(turn, state, jnp.arange(start, end))[0]


@lru_cache
def anchored():
    """An agent whose anchor was moved after ROUNDS rounds, then FRESH more. Its weights change in every round."""
    posterior = FGTSVA(c=0.3, alpha=0.2, variance="estimated")
    agent = Thompson(Logistic(), posterior, SGLD(batch_size=BATCH), control_variate=True)
    state = agent.grow(agent.start(jax.random.key(0), ENVIRONMENT.shape), ROUNDS + FRESH + 3)
    state = agent.grow(updated(agent, state, 0, ROUNDS), ROUNDS + FRESH + 3)
    return agent, updated(agent, state, ROUNDS, ROUNDS + FRESH)


def test_the_gradient_has_no_bias_and_less_noise():
    agent, state = anchored()
    target = agent.target(state, agent.embed(NEXT))
    bare = state._replace(history=state.history._replace(gradient_cache=None))
    position = state.history.gradient_cache.anchor.position + 0.1
    exact = jax.grad(target.logdensity)(position)
    keys = jax.random.split(jax.random.key(SEED), MANY)

    @jax.jit
    def estimates(keys):
        both = (agent.target(given, agent.embed(NEXT)).minibatch_gradient for given in (state, bare))
        return [jax.vmap(lambda key, g=gradient: g(key, position, BATCH))(keys) for gradient in both]

    ours, uniform = map(np.asarray, estimates(keys))
    assert_mean(ours, exact)
    assert_mean(uniform, exact)
    assert np.all(ours.std(axis=0) < uniform.std(axis=0) / 2)


def test_anchor_is_a_mode_with_the_gradient_of_all_data():
    agent, state = anchored()
    history, model = state.history, agent.model(3, 2)
    loss = partial(agent.posterior.loss, history)
    pull = loss_gradient(model, loss, history.data, history.gradient_cache.anchor.position)
    np.testing.assert_allclose(history.gradient_cache.anchor.gradient, pull, rtol=1e-10)
    # Moved now, it goes where prior and weighted data balance.
    moved = agent.grow(state, ROUNDS + FRESH + 3).history
    prior = jax.grad(model.logdensity(model.program))(moved.gradient_cache.anchor.position)
    weighted = agent.posterior.weight_scale(moved) * moved.gradient_cache.anchor.gradient
    np.testing.assert_allclose(prior, weighted, atol=1e-6)
    assert (
        np.linalg.norm(moved.gradient_cache.anchor.position - history.gradient_cache.anchor.position) > 1e-3
    )


def test_cost_of_a_minibatch_round_does_not_depend_on_the_number_of_data():
    """In operations that XLA counts, from 1024 rows to 8192; through all data they grow with them."""

    def operations(minibatch, rows):
        agent = Thompson(
            MLP(width=4), FGTSVA(variance="estimated", alpha=0.1), SGLD(num_steps=3, batch_size=minibatch)
        )
        state = jax.eval_shape(
            lambda key: agent.grow(agent.start(key, ENVIRONMENT.shape), rows), jax.random.key(0)
        )

        def turn(key, state, seen):
            round = agent.embed(seen)
            acted, action, _ = agent.act(key, state, round)
            return agent.update(acted, round, action, jnp.asarray(0.5))

        return jax.jit(turn).lower(jax.random.key(0), state, NEXT).cost_analysis()["flops"]

    assert operations(BATCH, 8192) < 1.05 * operations(BATCH, 1024)
    few, more, most = (operations(0, rows) for rows in (2048, 4096, 8192))
    assert most - more == pytest.approx(
        2 * (more - few), rel=0.1
    )  # linear, and a constant for the averaged metric
    assert most - few > few - operations(BATCH, 1024)


def test_buffers_are_updated_in_place():
    """No copy of as many numbers as there is room for within the compiled loop over rounds, several runs at once."""
    room, agent = (
        7919,
        Thompson(Logistic(), FGTSVA(variance="estimated", alpha=0.1), SGLD(num_steps=2, batch_size=BATCH)),
    )

    def start(key):
        return agent.grow(agent.start(key, ENVIRONMENT.shape), room)

    def play(key, state):
        def turn(state, t):
            round = agent.embed(NEXT)
            acted, action, _ = agent.act(jax.random.fold_in(key, t), state, round)
            return agent.update(acted, round, action, 0.5 * action), action

        return jax.lax.scan(turn, state, jnp.arange(5))

    keys = jax.random.split(jax.random.key(0), 3)
    states = jax.eval_shape(jax.vmap(start), keys)
    compiled = jax.jit(jax.vmap(play)).lower(keys, states).compile()
    loops = compiled.as_text().partition("\nENTRY ")[0]
    assert f",{room}" in loops
    assert not re.search(rf"\[[\d,]*{room}[\d,]*\]\S* copy\(", loops)


@pytest.mark.parametrize("variance", rest_is_slow(VARIANCE_MODELS.names(), ["revealed", "modelled"]))
def test_minibatches_run_in_the_simulation_loop(variance):
    posterior, sampler = FGTSVA(variance=variance), SGLD(batch_size=BATCH)
    check(ENVIRONMENT, Thompson(Logistic(), posterior, sampler, control_variate=True), rounds=5)
    if variance not in ("modelled_by_context", "modelled"):
        with pytest.raises(InputError, match="control_variate needs stored data"):
            check(ENVIRONMENT, Thompson(Linear(), posterior, control_variate=True), rounds=5)


def test_a_control_variate_without_minibatches_is_rejected():
    with pytest.raises(InputError, match="control_variate is for minibatch gradients"):
        check(ENVIRONMENT, Thompson(Logistic(), FGTSVA(), Laplace(), control_variate=True), rounds=5)


def test_cost_of_the_curvature_is_linear_in_the_rows():
    """In operations that XLA counts: four times the rows are four times the work, not sixteen."""
    model = flat_model(MLP(width=4), 3)

    def operations(rows):
        data = jax.eval_shape(
            lambda: empty(linear=False, keep_actions=False, arms=3, dim=3, capacity=rows).data
        )
        lowered = jax.jit(lambda data, x: gauss_newton(model, data, x)).lower(data, jnp.zeros(model.size))
        return lowered.cost_analysis()["flops"]

    assert operations(1024) < 4.5 * operations(256)
