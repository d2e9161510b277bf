"""Minibatch gradients with a control variate at a running mode."""

from functools import lru_cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from montecarlo import SEED, assert_mean
from worlds import rest_is_slow

from fgtsva_ppl import FGTSVA, MLP, SGLD, Contextual, InputError, Linear, Logistic, Thompson
from fgtsva_ppl.history import empty
from fgtsva_ppl.minibatch import loss_gradient
from fgtsva_ppl.posterior import SIGMAS, curvature
from fgtsva_ppl.protocols import Round
from fgtsva_ppl.rewards import latent
from fgtsva_ppl.simulate import check

WORLD = Contextual(dim=2, arms=3)
ROUNDS, FRESH, BATCH, MANY = 30, 5, 4, 4000
RNG = np.random.default_rng(0)
ACTIONS = RNG.normal(size=(ROUNDS + FRESH, 3, 2))
ARMS = RNG.integers(0, 3, ROUNDS + FRESH)
REWARDS = RNG.uniform(size=ROUNDS + FRESH)
NEXT = Round(jnp.asarray(RNG.normal(size=(3, 2))), jnp.asarray(0.5))


@partial(jax.jit, static_argnames=("begin", "end"))
def told(agent, state, begin, end):
    def turn(state, t):
        seen = Round(jnp.asarray(ACTIONS)[t], jnp.asarray(0.5))
        return agent.update(state, seen, jnp.asarray(ARMS)[t], jnp.asarray(REWARDS)[t]), None

    return jax.lax.scan(turn, state, jnp.arange(begin, end))[0]


@lru_cache
def anchored():
    """An agent whose anchor was moved after ROUNDS rounds; FRESH more came since. Its weights change all the time."""
    posterior = FGTSVA(c=0.3, alpha=0.2, sigma="estimated")
    agent = Thompson(Logistic(), posterior, SGLD(minibatch=BATCH), control_variate=True)
    state = agent.grow(agent.start(jax.random.key(0), WORLD.shape), ROUNDS + FRESH + 3)
    state = agent.grow(told(agent, state, 0, ROUNDS), ROUNDS + FRESH + 3)
    return agent, told(agent, state, ROUNDS, ROUNDS + FRESH)


def test_the_gradient_has_no_bias_and_less_noise():
    agent, state = anchored()
    target = agent.target(state, NEXT)
    bare = state._replace(history=state.history._replace(anchor=None))
    position = state.history.anchor.position + 0.1
    exact = jax.grad(target.logdensity)(position)
    keys = jax.random.split(jax.random.key(SEED), MANY)

    @jax.jit
    def estimates(keys):
        both = (agent.target(given, NEXT).minibatch_gradient for given in (state, bare))
        return [jax.vmap(lambda key, g=gradient: g(key, position, BATCH))(keys) for gradient in both]

    ours, uniform = map(np.asarray, estimates(keys))
    assert_mean(ours, exact)
    assert_mean(uniform, exact)
    assert np.all(ours.std(axis=0) < uniform.std(axis=0) / 2)


def test_the_anchor_is_a_mode_and_knows_what_all_data_pull():
    agent, state = anchored()
    history, model = state.history, agent.model(3, 2)
    loss = partial(agent.posterior.loss, model, history)
    pull = loss_gradient(model, loss, history.data, history.anchor.position)
    np.testing.assert_allclose(history.anchor.gradient, pull, rtol=1e-10)
    # Moved now, it goes where prior and weighted data balance.
    moved = agent.grow(state, ROUNDS + FRESH + 3).history
    prior = jax.grad(model.logdensity(model.program))(moved.anchor.position)
    np.testing.assert_allclose(prior, agent.posterior.anchor(moved).gradient, atol=1e-6)
    assert np.linalg.norm(moved.anchor.position - history.anchor.position) > 1e-3


@pytest.mark.parametrize("sigma", rest_is_slow(SIGMAS, ["revealed", "modelled"]))
def test_it_fits_into_the_loop(sigma):
    posterior, sampler = FGTSVA(sigma=sigma), SGLD(minibatch=BATCH)
    check(WORLD, Thompson(Logistic(), posterior, sampler, control_variate=True), rounds=5)
    if sigma not in ("by_context", "modelled"):
        with pytest.raises(InputError, match="control_variate needs data that are kept"):
            check(WORLD, Thompson(Linear(), posterior, control_variate=True), rounds=5)


def test_the_curvature_costs_no_more_than_rows_do():
    """In operations that XLA counts: four times the rows are four times the work, not sixteen."""
    model = latent(MLP(width=4), 3)

    def operations(rows):
        data = jax.eval_shape(
            lambda: empty(linear=False, keep_actions=False, arms=3, dim=3, capacity=rows).data
        )
        lowered = jax.jit(lambda data, x: curvature(model, data, x)).lower(data, jnp.zeros(model.size))
        return lowered.cost_analysis()["flops"]

    assert operations(1024) < 4.5 * operations(256)
