"""Posteriors that forget: against regressions by brute force, and exact draws against quadrature."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fgtsva_ppl import (
    FGTSVA,
    MALA,
    SGLD,
    TS,
    Exact,
    InputError,
    Logistic,
    Sparse,
    Thompson,
    ThompsonAgent,
    WithFeedback,
    simulate,
)
from fgtsva_ppl.agents import AGENTS
from fgtsva_ppl.feedback import Delayed
from fgtsva_ppl.posteriors import FGTSA, Estimated
from fgtsva_ppl.types import Round, Shape
from tests.helpers.montecarlo import SEED, assert_frequencies

DIM, ARMS, ROUNDS = 2, 3, 9
RNG = np.random.default_rng(SEED)
ACTIONS = RNG.normal(size=(ROUNDS + 1, ARMS, DIM))
SIGMA = RNG.uniform(0.3, 1.5, size=ROUNDS + 1)
PULLED = RNG.integers(0, ARMS, ROUNDS)
REWARDS = RNG.normal(size=ROUNDS)
PHI = ACTIONS[np.arange(ROUNDS), PULLED]
SHAPE = Shape(ARMS, DIM, fixed_actions=False, linear=True)
VA = FGTSVA(c=0.4, alpha=0.5)
BY_AGE = ROUNDS - 1 - np.arange(ROUNDS)  # rounds since each datum


def played(agent):
    """The agent's state after the rounds above, and the next round."""

    @jax.jit
    def play(agent):
        def step(state, datum):
            actions, sigma, pulled, reward = datum
            return agent.update(state, agent.embed(Round(actions, sigma)), pulled, reward), None

        data = jax.tree.map(jnp.asarray, (ACTIONS[:-1], SIGMA[:-1], PULLED, REWARDS))
        return jax.lax.scan(step, agent.grow(agent.start(jax.random.key(0), SHAPE), 16), data)[0]

    return play(agent), agent.embed(Round(jnp.asarray(ACTIONS[-1]), jnp.asarray(SIGMA[-1])))


def weights(posterior):
    """eta_s of every round."""
    return np.asarray(posterior.weight(jnp.asarray(SIGMA[:ROUNDS])))


def regression(factors, posterior):
    """Precision and shift of the weighted regression: prior N(0, I/d), a datum adds 2 eta to the precision."""
    eta = factors * weights(posterior)
    return DIM * np.eye(DIM) + 2 * (PHI.T * eta) @ PHI, 2 * PHI.T @ (eta * REWARDS)


def state_space(step, posterior):
    """Precision and shift of theta_t under a random walk, from the joint normal distribution of all theta_s."""
    prior = np.eye(DIM) / DIM
    covariance = np.zeros((ROUNDS + 1, DIM, ROUNDS + 1, DIM))
    for s in range(ROUNDS + 1):
        for t in range(ROUNDS + 1):
            covariance[s, :, t] = prior + step**2 * (1 + min(s, t)) * np.eye(DIM)
    joint = covariance.reshape((ROUNDS + 1) * DIM, -1)
    design = np.zeros((ROUNDS, ROUNDS + 1, DIM))
    design[np.arange(ROUNDS), np.arange(ROUNDS)] = PHI
    design = design.reshape(ROUNDS, -1)
    noise = np.diag(1 / (2 * weights(posterior)))
    gain = joint @ design.T @ np.linalg.inv(design @ joint @ design.T + noise)
    mean, posterior_covariance = gain @ REWARDS, joint - gain @ design @ joint
    precision = np.linalg.inv(posterior_covariance[-DIM:, -DIM:])
    return precision, precision @ mean[-DIM:]


FORGETTING = {
    "discount": (0.8, lambda p: regression(0.8**BY_AGE, p)),
    "window": (4, lambda p: regression(BY_AGE < 4, p)),
    "random_walk": (0.3, lambda p: state_space(0.3, p)),
}


@pytest.fixture(scope="module", params=FORGETTING)
def forgetting(request):
    """A posterior that forgets, its Gaussian part by brute force, and the agent's state after the rounds."""
    value, expected = FORGETTING[request.param]
    posterior = dataclasses.replace(VA, **{request.param: value})
    agent = Thompson(posterior=posterior, sampler=Exact())
    return request.param, agent, expected(posterior), *played(agent)


def test_a_linear_posterior_equals_the_regression_by_brute_force(forgetting):
    _, agent, (precision, shift), state, seen = forgetting
    gaussian = agent.target(state, seen).gaussian
    np.testing.assert_allclose(gaussian.precision, precision, rtol=1e-10)
    np.testing.assert_allclose(gaussian.shift, shift, rtol=1e-9, atol=1e-11)
    assert state.history.gaussian_cache is None  # which a rank-one update would not keep exact


def test_lambda_forgets_as_the_weights_do(forgetting):
    name, _, _, state, _ = forgetting
    variances = np.maximum(SIGMA[:ROUNDS], VA.alpha) ** 2
    factors = {"discount": 0.8**BY_AGE, "window": BY_AGE < 4, "random_walk": np.ones(ROUNDS)}[name]
    assert state.history.total_variance == pytest.approx(np.sum(factors * variances))


def test_exact_draws_agree_with_quadrature(forgetting):
    """P(arm is best) under the tilted posterior, from a grid in two dimensions."""
    _, agent, (precision, shift), state, seen = forgetting
    own = max(SIGMA[-1], VA.alpha) ** 2
    lam = VA.c * np.sqrt(float(state.history.total_variance) + own) / own
    mean = np.linalg.solve(precision, shift)
    root = np.linalg.cholesky(np.linalg.inv(precision))
    axis = np.linspace(-9, 9, 601)
    z = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    values = (mean + z @ root.T) @ ACTIONS[-1].T
    log_density = -np.sum(z**2, 1) / 2 + lam * values.max(1)
    density = np.exp(log_density - log_density.max())
    arms = np.bincount(values.argmax(1), weights=density, minlength=ARMS) / density.sum()
    target = agent.target(state, seen)
    draws = np.asarray(jax.jit(lambda key: target.exact_draws(key, 20_000))(jax.random.key(SEED)))
    counts = np.bincount((draws @ ACTIONS[-1].T).argmax(1), minlength=ARMS)
    assert_frequencies(counts, arms)


def test_late_rewards_have_the_weight_of_their_age():
    """Two rewards observed in the last round, four and one rounds late, in the loop's order of calls."""
    for name, factors in (("discount", 0.8**BY_AGE), ("window", BY_AGE < 4)):
        posterior = dataclasses.replace(VA, **{name: FORGETTING[name][0]})
        agent = Thompson(posterior=posterior, sampler=Exact())

        def embedded(t, agent=agent):
            return agent.embed(Round(jnp.asarray(ACTIONS[t]), jnp.asarray(SIGMA[t])))

        state, late = agent.start(jax.random.key(0), SHAPE), {4: 8, 7: 8}
        for t in range(ROUNDS):
            state = agent.end_round(state, embedded(t))
            for s in [s for s in range(ROUNDS) if late.get(s, s) == t]:
                args = embedded(s), jnp.asarray(PULLED[s]), jnp.asarray(REWARDS[s]), jnp.asarray(t - s)
                state = agent.update_late(state, *args)
        gaussian = agent.target(state, embedded(ROUNDS)).gaussian
        precision, shift = regression(factors, posterior)
        np.testing.assert_allclose(gaussian.precision, precision, rtol=1e-10)
        np.testing.assert_allclose(gaussian.shift, shift, rtol=1e-9, atol=1e-11)


def test_ask_and_tell_forget_as_the_loop_does():
    agent = ThompsonAgent(posterior=dataclasses.replace(VA, discount=0.8), sampler=Exact())
    arms = [agent.ask(ACTIONS[t], SIGMA[t]) for t in range(3)]
    for t in (2, 0):  # the second reward is not observed, the first one two rounds late
        agent.tell(REWARDS[t], t)
    eta = weights(VA)
    rows = np.stack([ACTIONS[t, arms[t]] for t in (0, 2)])
    expected = (rows.T * (np.array([0.64, 1.0]) * eta[[0, 2]])) @ rows
    np.testing.assert_allclose(agent._state.history.data.gram, expected, rtol=1e-12)


@pytest.mark.parametrize("forgets", [{"discount": 0.7}, {"window": 4}])
def test_other_rewards_forget_as_well(forgets):
    """The log-density of a logistic reward, up to a constant, and minibatches without bias."""
    posterior = TS(eta=0.6, **forgets)
    agent = Thompson(Logistic(), posterior, SGLD(batch_size=2))
    state, seen = played(agent)
    factors = 0.7**BY_AGE if "discount" in forgets else BY_AGE < 4
    eta = 0.6 * factors
    x, y = jax.random.normal(jax.random.key(SEED), (2, seen.model.size))

    def by_hand(theta):
        residual = REWARDS - np.asarray(seen.model.function(theta)(jnp.asarray(PHI)))
        return float(seen.model.logdensity(seen.model.program)(theta)) - np.sum(eta * residual**2)

    target = agent.target(state, seen)
    difference = float(target.logdensity(x) - target.logdensity(y))
    assert difference == pytest.approx(by_hand(x) - by_hand(y), rel=1e-9)
    gradients = jax.jit(jax.vmap(lambda key: target.minibatch_gradient(key, x, 2)))
    keys = jax.random.split(jax.random.key(SEED), 4000)
    from tests.helpers.montecarlo import assert_mean

    assert_mean(np.asarray(gradients(keys)), np.asarray(jax.grad(target.logdensity)(x)))


def test_a_discount_of_one_is_todays_program_and_bits():
    plain = simulate(Sparse(dim=2), Thompson(sampler=MALA(num_steps=2)), rounds=20, runs=2)
    agent = Thompson(posterior=FGTSVA(discount=1.0, random_walk=0.0), sampler=MALA(num_steps=2))
    assert agent.for_horizon(20) == Thompson(sampler=MALA(num_steps=2)).for_horizon(20)
    np.testing.assert_array_equal(simulate(Sparse(dim=2), agent, rounds=20, runs=2).regret, plain.regret)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        # settings are validated when they are built
        ({"discount": 0.0}, "discount=0.0 must be a number, above 0"),
        ({"discount": 1.5}, "discount=1.5 must be a number, above 0 and at most 1"),
        ({"discount": 0.9, "window": 5}, "posterior.discount and posterior.window both forget"),
    ],
)
def test_a_discount_that_makes_no_sense_is_an_error(settings, message):
    with pytest.raises(InputError, match=message):
        simulate(Sparse(dim=2), Thompson(posterior=TS(**settings), sampler=Exact()), rounds=2, runs=1)


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        (Thompson(posterior=FGTSA(discount=0.9)), "fgts_a sums its bonus over all past rounds"),
        (Thompson(posterior=FGTSVA(variance=Estimated(), window=5)), "needs weights that do not depend"),
        (Thompson(Logistic(), TS(random_walk=0.1)), "random_walk needs a linear reward"),
        (AGENTS["ensemble"](posterior=TS(discount=0.9)), "agent ensemble does not forget"),
    ],
)
def test_what_cannot_forget_says_so(agent, message):
    with pytest.raises(InputError, match=message):
        simulate(Sparse(dim=2), agent, rounds=4, runs=1)


def test_a_random_walk_refuses_late_rewards():
    agent = Thompson(posterior=TS(random_walk=0.1), sampler=Exact())
    with pytest.raises(InputError, match="random_walk needs feedback=immediate"):
        simulate(WithFeedback(Sparse(dim=2), Delayed("constant", 1)), agent, rounds=4, runs=1)
