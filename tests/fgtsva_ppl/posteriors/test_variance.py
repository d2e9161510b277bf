"""Variance that is revealed late or never: posteriors against explicit densities, and the learnt variance."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from helpers.played_rounds import PlainLinear
from scipy import stats

from fgtsva_ppl import (
    FGTSVA,
    HMC,
    NOISES,
    TS,
    Contextual,
    Exact,
    InputError,
    Linear,
    RevealedAfter,
    Thompson,
    WithNoise,
    simulate,
)
from fgtsva_ppl.agents import Ensemble
from fgtsva_ppl.posteriors import VARIANCE_MODELS
from fgtsva_ppl.rewards import LinearFunction, NoisyFunction
from fgtsva_ppl.rewards.context import context
from fgtsva_ppl.simulation import check
from fgtsva_ppl.types import Round

DIM, ARMS, ALPHA, C = 2, 3, 0.2, 0.4
ENVIRONMENT = Contextual(dim=DIM, arms=ARMS)
RNG = np.random.default_rng(0)
DATA = [
    (RNG.normal(size=(ARMS, DIM)), sigma, arm, reward)
    for sigma, arm, reward in [(1.0, 0, 0.3), (0.0, 2, -0.4), (0.5, 1, 1.1)]
]
NEXT = Round(jnp.asarray(RNG.normal(size=(ARMS, DIM))), jnp.asarray(0.7))


def state_after(variance, reward=None):
    """An agent and its state after the data, its draw in all rounds being zero."""
    agent = Thompson(reward or Linear(), FGTSVA(c=C, alpha=ALPHA, variance=variance), HMC())
    state = agent.grow(agent.start(jax.random.key(0), ENVIRONMENT.shape), 5)
    state = state._replace(sampler=state.sampler._replace(position=jnp.zeros_like(state.sampler.position)))
    for actions, sigma_t, arm, seen_reward in DATA:
        seen = agent.embed(Round(jnp.asarray(actions), jnp.asarray(sigma_t)))
        state = agent.update(state, seen, jnp.asarray(arm), jnp.asarray(seen_reward))
    return agent, state


FEATURES = np.array([actions[arm] for actions, _, arm, _ in DATA])
REWARDS = np.array([reward for *_, reward in DATA])
SIGMA = np.array([sigma for _, sigma, _, _ in DATA])
FLOORED = np.maximum(SIGMA, ALPHA) ** 2


def log_prior(theta):
    return np.sum(stats.norm(0, DIM**-0.5).logpdf(theta))


def bonus(theta, own, total):
    return C * np.sqrt(total + own) / own * np.max(np.asarray(NEXT.actions) @ theta)


def density(agent, state, position):
    return float(agent.target(state, agent.embed(NEXT)).logdensity(jnp.asarray(position)))


def test_revealed_after_weights_by_true_variances_and_scales_the_bonus_by_their_mean():
    agent, state = state_after(RevealedAfter(initial_sigma=0.8))
    for theta in RNG.normal(size=(3, DIM)):
        own = max((0.8**2 + FLOORED.sum()) / 4, ALPHA**2)
        loss = np.sum((REWARDS - FEATURES @ theta) ** 2 / FLOORED)
        expected = log_prior(theta) - loss + bonus(theta, own, FLOORED.sum())
        np.testing.assert_allclose(density(agent, state, theta), expected, rtol=1e-12)
    hidden = agent.target(state, agent.embed(NEXT._replace(sigma=jnp.asarray(99.0))))
    np.testing.assert_array_equal(hidden.logdensity(jnp.ones(DIM)), density(agent, state, np.ones(DIM)))


@pytest.mark.parametrize("reward", [Linear(), PlainLinear()])
def test_estimated_variance_is_the_mean_squared_residual(reward):
    agent, state = state_after("estimated", reward)
    shown = np.maximum(np.abs(REWARDS), ALPHA) ** 2  # the draws were zero
    estimate = (1 + shown.sum()) / 4
    for theta in RNG.normal(size=(3, DIM)):
        loss = np.sum((REWARDS - FEATURES @ theta) ** 2) / estimate
        expected = log_prior(theta) - loss + bonus(theta, estimate, shown.sum())
        np.testing.assert_allclose(density(agent, state, theta), expected, rtol=1e-12)
    precision = agent.target(state, agent.embed(NEXT)).precision(jnp.zeros(DIM))
    np.testing.assert_allclose(
        precision, DIM * np.eye(DIM) + 2 * FEATURES.T @ FEATURES / estimate, rtol=1e-12
    )


@pytest.mark.parametrize("reward", [Linear(), PlainLinear()])
@pytest.mark.parametrize("variance", ["modelled", "modelled_by_context"])
def test_modelled_noise_is_sampled_with_the_other_parameters(variance, reward):
    agent, state = state_after(variance, reward)
    model = agent.model(ARMS, DIM)
    assert model.noisy
    assert model.linear == (variance == "modelled" and isinstance(reward, Linear))
    around = np.array([context(jnp.asarray(actions)) for actions, *_ in DATA])
    shown = np.maximum(np.abs(REWARDS), ALPHA) ** 2
    own = (1 + shown.sum()) / 4
    for _ in range(3):
        scale, slope, theta = RNG.normal(), RNG.normal(size=DIM), RNG.normal(size=DIM)
        by_context = variance == "modelled_by_context"
        logs = np.log(np.exp(2 * (scale + by_context * around @ slope)) + ALPHA**2)
        expected = log_prior(theta) + stats.norm(0, 1.5).logpdf(scale) + bonus(theta, own, shown.sum())
        expected -= np.sum((REWARDS - FEATURES @ theta) ** 2 * np.exp(-logs) + logs) / 2
        expected += np.sum(stats.norm(0, DIM**-0.5).logpdf(slope)) if by_context else 0
        position = np.concatenate([[scale], slope, theta] if by_context else [[scale], theta])
        np.testing.assert_allclose(density(agent, state, position), expected, rtol=1e-12)


@pytest.mark.slow
def test_the_curvature_of_a_modelled_variance_bounds_the_expected_hessian():
    agent, state = state_after("modelled_by_context", PlainLinear())
    other, sums = state_after("modelled")
    _, rows = state_after("modelled", PlainLinear())
    position = jnp.asarray([0.3, 0.5, -0.2])
    ours = other.target(sums, other.embed(NEXT)).precision(position)
    plain = Thompson(PlainLinear(), other.posterior)
    theirs = plain.target(rows, plain.embed(NEXT)).precision(position)
    np.testing.assert_allclose(ours, theirs, rtol=1e-10)  # two ways to the same matrix
    # Averaged over rewards from the model, it is the Hessian of the loss.
    position = jnp.asarray([0.1, 0.4, -0.3, 0.5, -0.2])
    model = agent.model(ARMS, DIM)
    data = state.history.data
    function = model.function(position)
    spread = jnp.sqrt(jnp.exp(2 * function.log_sigma(data.features)) + ALPHA**2)

    def hessian(rewards):
        history = state.history._replace(data=data._replace(rewards=rewards))
        return jax.hessian(lambda x: agent.posterior.loss(history, history.data, model.function(x)))(position)

    # the loss is quadratic in the rewards, so two points around the mean give its expectation exactly
    expected = sum(hessian(function(data.features) + sign * spread) for sign in (-1, 1)) / 2
    gauss_newton = agent.target(state, agent.embed(NEXT)).precision(position) - model.prior_precision
    np.testing.assert_allclose(gauss_newton[3:, 3:], expected[3:, 3:], rtol=1e-9)
    assert np.all(np.linalg.eigvalsh(gauss_newton - expected) >= -1e-9)


def test_a_program_can_define_its_own_noise_model():
    def own(dim):
        theta = numpyro.sample("theta", dist.Normal(0, 1).expand([dim]).to_event(1))
        noise = numpyro.sample("noise", dist.HalfNormal(1.0))
        return NoisyFunction(LinearFunction(theta), lambda rows: jnp.log(noise) + rows[:, 0])

    model = Thompson(own, FGTSVA(alpha=ALPHA, variance="modelled")).model(ARMS, DIM)
    assert set(model.constrain(jnp.zeros(DIM + 1))) == {"theta", "noise"}
    for posterior in (FGTSVA(), TS()):
        with pytest.raises(InputError, match="needs posterior fgts_va with variance=modelled"):
            check(ENVIRONMENT, Thompson(own, posterior), 3)


@pytest.mark.parametrize("variance", VARIANCE_MODELS.names())
def test_agents_reject_variance_models_they_do_not_support(variance):
    posterior = FGTSVA(variance=variance)
    check(ENVIRONMENT, Thompson(posterior=posterior), 3)
    if variance in ("modelled", "modelled_by_context"):
        with pytest.raises(InputError, match="no exact draws"):
            check(ENVIRONMENT, Thompson(posterior=posterior, sampler=Exact()), 3)
    else:
        check(ENVIRONMENT, Thompson(posterior=posterior, sampler=Exact()), 3)
    if variance != "revealed":
        with pytest.raises(
            InputError,
            match=f"agent ensemble needs sigma_t before the action, not posterior.variance={variance}",
        ):
            check(ENVIRONMENT, Ensemble(posterior=posterior), 3)


@pytest.mark.slow
def test_estimated_variance_converges_to_the_true_one():
    """After 400 rounds of noise 0.5: residuals of draws are a little larger, the more the shorter the past."""
    noisy = WithNoise(ENVIRONMENT, NOISES.build("constant", {"scale": 0.5}))
    agent = Thompson(posterior=FGTSVA(variance="estimated"), sampler=Exact())
    played = simulate(noisy, agent, rounds=400, runs=4, probes=[400])
    history = played.snapshots[0].states.history
    estimate = np.sqrt((1 + history.total_variance) / (1 + history.rounds))
    # the mean of 400 squared normal values has a relative error of 7%, their root of 3.5%
    assert np.all(np.abs(estimate / 0.5 - 1.05) < 5 * 0.035)
