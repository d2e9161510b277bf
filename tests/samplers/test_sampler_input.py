"""What a sampler cannot do is reported before anything compiles, in one line."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from helpers.montecarlo import SEED, assert_mean, assert_same_moments

from fgtsva_ppl import FGTSVA, Contextual, Sparse, Thompson
from fgtsva_ppl.agents import AGENTS, Ensemble
from fgtsva_ppl.posteriors import posterior_target
from fgtsva_ppl.posteriors.feel_good import FGTSA, TS
from fgtsva_ppl.posteriors.history import ReplayBuffer, empty
from fgtsva_ppl.rewards import Reward, flat_model
from fgtsva_ppl.simulation import check, simulate
from fgtsva_ppl.types import Round
from samplers import SAMPLERS, InputError, SamplerState, Target
from samplers.settings import settings


@settings
class Sigmoid(Reward):
    """A reward that is not linear, with a Gaussian prior."""

    def program(self, dim):
        def sigmoid():
            theta = numpyro.sample("theta", dist.Normal(0, 1).expand([dim]).to_event(1))
            return lambda features: jax.nn.sigmoid(features @ theta)

        return sigmoid


@settings
class HeavyTailed(Reward):
    """A reward whose prior is not Gaussian."""

    def program(self, dim):
        def heavy():
            theta = numpyro.sample("theta", dist.StudentT(3.0).expand([dim]).to_event(1))
            return lambda features: jax.nn.sigmoid(features @ theta)

        return heavy


STEPPED = [
    (name, key)
    for name in SAMPLERS.names()
    for key in ("step_size", "learning_rate")
    if key in SAMPLERS.defaults(name)
]


@pytest.mark.parametrize(("name", "key"), STEPPED)
@pytest.mark.parametrize("value", [0.0, -1.0])
def test_a_step_must_be_positive(name, key, value):
    with pytest.raises(InputError, match=rf"sampler '{name}': {key}={value}"):
        SAMPLERS.build(name, {key: value})


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("hmc", "num_integration_steps"),
        ("dynamic_hmc", "num_integration_steps"),
        ("sghmc", "num_integration_steps"),
        ("adjusted_mclmc", "num_integration_steps"),
        ("nuts", "max_num_doublings"),
        ("smc", "num_mcmc_steps"),
        ("laplace", "num_iterations"),
    ],
)
def test_zero_integration_steps_are_rejected(name, key):
    with pytest.raises(InputError, match=f"sampler '{name}': {key}=0"):
        SAMPLERS.build(name, {key: 0})


@pytest.mark.parametrize("name", ["mala", "nuts", "slice", "mclmc", "laplace", "exact"])
def test_minibatch_setting_is_rejected_for_samplers_that_need_exact_values(name):
    with pytest.raises(InputError, match="has no setting 'batch_size'"):
        SAMPLERS.build(name, {"batch_size": 10})


@pytest.mark.parametrize("name", ["sgld", "psgld", "sghmc", "sgnht", "ulmc"])
def test_minibatches_of_linear_rewards_are_rejected_before_compiling(name):
    agent = Thompson(sampler=SAMPLERS.build(name, {"batch_size": 10}))
    with pytest.raises(InputError, match="no data to subsample"):
        check(Sparse(), agent, 10)


def test_elliptical_slice_needs_a_gaussian_factor():
    sampler = SAMPLERS.build("elliptical_slice")
    with pytest.raises(InputError, match="Gaussian factor"):
        check(Sparse(), Thompson(reward=HeavyTailed(), sampler=sampler), 10)
    check(Sparse(), Thompson(reward=Sigmoid(), sampler=sampler), 10)  # a Gaussian prior will do


def test_other_invalid_requirements_are_rejected():
    bare = Target(lambda x: -jnp.sum(x**2))
    state = SamplerState(jnp.zeros(2), jnp.zeros(2))
    for name, overrides in (
        ("laplace", "precision"),
        ("exact", "no exact draws"),
        ("mala", "preconditioner=none"),
    ):
        with pytest.raises(InputError, match=overrides):
            SAMPLERS.build(name).sample(jax.random.key(0), bare, state)
    line = Target(lambda x: -jnp.sum(x**2), lambda x: jnp.eye(1))
    for name in ("mclmc", "adjusted_mclmc"):
        with pytest.raises(InputError, match="at least 2 dimensions"):
            SAMPLERS.build(name).sample(jax.random.key(0), line, SamplerState(jnp.zeros(1)))


def test_ensemble_rejects_rewards_that_are_not_gaussian():
    with pytest.raises(InputError, match="sigmoid is not one"):
        check(Sparse(), Ensemble(reward=Sigmoid()), 10)
    with pytest.raises(InputError, match="hard, uncapped"):
        check(Sparse(), Ensemble(posterior=FGTSVA(cap=1.0)), 10)
    with pytest.raises(InputError, match="hard, uncapped"):
        check(Contextual(), Ensemble(posterior=FGTSA()), 10)
    with pytest.raises(InputError, match="members=0"):
        AGENTS.build("ensemble", {"members": 0})


def filled(rounds=40, capacity=64, dim=3):
    """A history with rows, and a round."""
    history = empty(linear=False, keep_actions=False, arms=4, dim=dim, capacity=capacity)
    rng = np.random.default_rng(0)
    rows = ReplayBuffer(*(np.zeros_like(part) for part in history.data))
    rows.features[:rounds] = rng.normal(size=(rounds, dim))
    rows.rewards[:rounds] = rng.normal(size=rounds)
    rows.weights[:rounds] = rng.uniform(0.5, 2.0, size=rounds)
    history = history._replace(data=ReplayBuffer(*map(jnp.asarray, rows)), rounds=jnp.asarray(rounds))
    return history, Round(jnp.asarray(rng.normal(size=(4, dim))), jnp.asarray(0.5))


@pytest.mark.slow
def test_minibatch_gradients_are_unbiased_and_exact_where_all_rows_fit():
    history, seen = filled()
    target = posterior_target(FGTSVA(c=0.1, alpha=0.1), flat_model(Sigmoid(), 3), history, seen)
    x = jnp.array([0.3, -1.0, 0.7])
    full = jax.grad(target.logdensity)(x)
    for m in (40, 64, 100):
        np.testing.assert_allclose(target.minibatch_gradient(jax.random.key(0), x, m), full, rtol=1e-9)
    keys = jax.random.split(jax.random.key(SEED), 20_000)
    estimates = jax.jit(jax.vmap(lambda k: target.minibatch_gradient(k, x, 5)))(keys)
    assert_mean(np.asarray(estimates), np.asarray(full))
    assert np.all(np.std(estimates, axis=0) > 0)


def test_minibatch_gradients_without_data_are_those_of_prior_and_bonus():
    history, seen = filled(rounds=0)
    target = posterior_target(TS(), flat_model(Sigmoid(), 3), history, seen)
    x = jnp.array([0.3, -1.0, 0.7])
    np.testing.assert_allclose(target.minibatch_gradient(jax.random.key(0), x, 5), -x, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sgld", "sghmc", "sgnht", "ulmc"])
def test_minibatches_run_in_the_loop(name):
    agent = Thompson(reward=Sigmoid(), sampler=SAMPLERS.build(name, {"batch_size": 8, "num_steps": 3}))
    played = simulate(Sparse(dim=2), agent, rounds=30, runs=2)
    assert np.all(np.isfinite(played.regret))
    assert np.sum(played.num_resets) == 0


@pytest.mark.slow
def test_a_member_of_the_ensemble_has_the_distribution_of_the_posterior():
    """Given the data, a member's mean is a draw from the Gaussian part of the posterior (Lu & Van Roy, lemma 1)."""
    posterior = FGTSVA(c=0.0, alpha=0.1)
    environment = Sparse(dim=2, arms=0)
    agent = Ensemble(posterior=posterior, members=4000)
    state = agent.start(jax.random.key(SEED), environment.shape)
    history = empty(linear=True, keep_actions=False, arms=4, dim=2, capacity=1)
    actions = environment.round_actions(jax.random.key(0))
    rewards, arms = [0.3, -0.5, 0.9, 0.1], [0, 1, 0, 3]
    for t, (reward, arm, sigma) in enumerate(zip(rewards, arms, [1.0, 0.0, 0.5, 1.0], strict=True)):
        arm, reward, sigma = jnp.asarray(arm), jnp.asarray(reward), jnp.asarray(sigma)
        seen = Round(actions, sigma)
        state, _, _ = agent.act(jax.random.fold_in(jax.random.key(SEED + 1), t), state, seen)
        state = agent.update(state, seen, arm, reward)
        history = history.added(
            actions, arm, reward, posterior.weight(sigma), posterior.round_variance(sigma)
        )
    seen = Round(actions, jnp.asarray(1.0))
    target = posterior_target(posterior, flat_model(agent.reward, 2), history, seen)
    np.testing.assert_allclose(state.precision, target.gaussian.precision, rtol=1e-12)
    members = jax.vmap(lambda m: agent.theta(state, seen, m))(jnp.arange(4000))
    exact = jax.vmap(target.exact)(jax.random.split(jax.random.key(SEED + 2), 20_000))
    assert_same_moments(np.asarray(members), np.asarray(exact))


def test_the_ensembles_feel_good_step_goes_to_the_mode():
    agent = Ensemble(posterior=FGTSVA(c=0.5, alpha=0.1))
    environment = Sparse(dim=3)
    state = agent.start(jax.random.key(0), environment.shape)
    seen = Round(environment.round_actions(jax.random.key(0)), jnp.asarray(0.4))
    mean = jnp.linalg.solve(state.precision, state.shifts[0])
    lam = agent.posterior.bonus_scale(state.total_variance, seen.sigma)

    def value(theta):
        return lam * jnp.max(seen.actions @ theta) - (theta - mean) @ state.precision @ (theta - mean) / 2

    top = agent.theta(state, seen, jnp.asarray(0))
    others = top + 0.3 * jax.random.normal(jax.random.key(1), (2000, 3))
    assert np.all(jax.vmap(value)(others) < value(top))
