"""Empty rows of a replay buffer have no effect, even if the reward is undefined at their features."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from scipy import stats

from fgtsva_ppl import FGTSA, FGTSVA, MALA, SGLD, TS, Contextual, Thompson, ThompsonAgent, simulate
from fgtsva_ppl.types import Round

ENVIRONMENT = Contextual(dim=2, arms=3)
RNG = np.random.default_rng(0)
SEEN = [Round(jnp.asarray(RNG.normal(size=(3, 2))), jnp.asarray(0.5)) for _ in range(4)]
REWARDS = RNG.normal(size=3)
SIGMA_AFTER = FGTSVA(c=0.1, alpha=0.2)


def distance():
    """Its gradient is not a number at features zero, and a number everywhere else."""
    scale = numpyro.sample("scale", dist.LogNormal(0.0, 1.0))
    return lambda features: -scale * jnp.linalg.norm(features, axis=1)


def logarithm():
    """Not a number itself at features zero."""
    scale = numpyro.sample("scale", dist.LogNormal(0.0, 1.0))
    return lambda features: scale * jnp.log(jnp.sum(features**2, axis=1))


def after_three(agent, capacity=8):
    state = agent.grow(agent.start(jax.random.key(0), ENVIRONMENT.shape), capacity)
    for seen, reward in zip(SEEN, REWARDS, strict=False):
        state = agent.update(state, agent.embed(seen), jnp.asarray(1), jnp.asarray(reward))
    return agent.grow(state, capacity)


def norms(scale, actions):
    return -scale * np.linalg.norm(actions, axis=-1)


@pytest.mark.parametrize("posterior", [TS(eta=2.0), FGTSA(eta=2.0, lam=0.3)], ids=["ts", "fgts_a"])
def test_empty_rows_do_not_change_the_density(posterior):
    agent = Thompson(distance, posterior, MALA()).for_horizon(10)
    target = agent.target(after_three(agent), agent.embed(SEEN[3]))
    position, scale = jnp.asarray([0.3]), np.exp(0.3)
    past = [np.asarray(seen.actions) for seen in SEEN[:3]]
    expected = stats.norm.logpdf(0.3) - 2 * sum(
        (reward - norms(scale, actions)[1]) ** 2 for reward, actions in zip(REWARDS, past, strict=True)
    )
    if isinstance(posterior, FGTSA):
        expected += 0.3 * sum(norms(scale, actions).max() for actions in past)
    np.testing.assert_allclose(target.logdensity(position), expected, rtol=1e-12)
    step = 1e-6
    slope = (target.logdensity(position + step) - target.logdensity(position - step)) / (2 * step)
    np.testing.assert_allclose(jax.grad(target.logdensity)(position)[0], slope, rtol=1e-7)
    gauss_newton = 1 + 2 * 2 * sum(norms(scale, actions)[1] ** 2 for actions in past)
    np.testing.assert_allclose(target.precision(position), [[gauss_newton]], rtol=1e-9)


@pytest.mark.parametrize("program", [distance, logarithm])
@pytest.mark.parametrize("control_variate", [False, True])
def test_minibatches_larger_than_the_data_ignore_empty_rows(program, control_variate):
    agent = Thompson(program, TS(eta=2.0), SGLD(batch_size=6), control_variate=control_variate).for_horizon(
        10
    )
    target = agent.target(after_three(agent), agent.embed(SEEN[3]))
    position = jnp.asarray([0.3])
    estimate = target.minibatch_gradient(jax.random.key(0), position, 6)
    np.testing.assert_allclose(estimate, jax.grad(target.logdensity)(position), rtol=1e-9)


@pytest.mark.parametrize("program", [distance, logarithm])
def test_agents_move_with_empty_rows(program):
    played = simulate(ENVIRONMENT, Thompson(program, SIGMA_AFTER, MALA(num_steps=3)), rounds=6, runs=2)
    assert not played.num_resets.any()
    assert np.all(played.acceptance_rate.mean(axis=1) > 0)
    ask_tell = ThompsonAgent(program, SIGMA_AFTER, MALA(num_steps=3), horizon=10)
    for seen, reward in zip(SEEN, REWARDS, strict=False):
        ask_tell.ask(seen.actions, 0.5)
        before = np.asarray(ask_tell._state.sampler.position)
        ask_tell.tell(reward)
    ask_tell.ask(SEEN[3].actions, 0.5)
    assert ask_tell.num_resets == 0
    assert np.any(np.asarray(ask_tell._state.sampler.position) != before)
