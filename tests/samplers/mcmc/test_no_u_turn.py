"""Transitions of NUTS are those of BlackJAX, given the same random numbers."""

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from samplers.gaussian import Gaussian, Tilt
from samplers.mcmc._no_u_turn import Randomness, State, draw_randomness, transition
from samplers.mcmc.nuts import MAX_WHITENED_ARMS, NUTS
from samplers.target import Target

DIM, CHAINS, TRANSITIONS = 3, 60, 4
# Short and long steps: trajectories that reach the limit, that turn back, and that diverge.
STEP_SIZES = np.geomspace(0.005, 4.0, CHAINS)


def banana(x):
    return -((x[0] - 1) ** 2) / 2 - 20 * (x[1] - x[0] ** 2) ** 2 - x[2] ** 2 / 0.02


def randomness_of_blackjax(key):
    momentum_key, integrator_key = jax.random.split(key)

    def keys(number):
        return jax.random.split(jax.random.fold_in(integrator_key, number), 3)

    def doubling(number):
        return jax.random.bernoulli(keys(number)[0]), jax.random.uniform(keys(number)[2])

    def leaf(number, step):
        return jax.random.uniform(jax.random.fold_in(keys(number)[1], step))

    return Randomness(jax.random.normal(momentum_key, (DIM,)), doubling, leaf)


@pytest.mark.parametrize("doublings", [2, 6])
def test_transitions_are_those_of_blackjax(doublings):
    start = jax.random.normal(jax.random.key(1), (CHAINS, DIM))
    keys = jax.random.split(jax.random.key(2), (CHAINS, TRANSITIONS))

    def ours(start, keys, step_size):
        value_and_gradient = jax.value_and_grad(banana)

        def step(state, key):
            state, report = transition(
                randomness_of_blackjax(key), state, value_and_gradient, step_size, doublings
            )
            return state, (state, report)

        return jax.lax.scan(step, State(start, *value_and_gradient(start)), keys)[1]

    def theirs(start, keys, step_size):
        algorithm = blackjax.nuts(banana, step_size, jnp.ones(DIM), max_num_doublings=doublings)

        def step(state, key):
            state, info = algorithm.step(key, state)
            return state, (state, info)

        return jax.lax.scan(step, algorithm.init(start), keys)[1]

    state, report = jax.jit(jax.vmap(ours))(start, keys, STEP_SIZES)
    expected, info = jax.jit(jax.vmap(theirs))(start, keys, STEP_SIZES)
    np.testing.assert_array_equal(report.num_integration_steps, info.num_integration_steps)
    np.testing.assert_array_equal(report.is_divergent, info.is_divergent)
    np.testing.assert_allclose(state.position, expected.position, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(state.gradient, expected.logdensity_grad, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(report.acceptance_rate, info.acceptance_rate, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(report.energy, info.energy, rtol=1e-8, atol=1e-9)
    lengths = np.unique(report.num_integration_steps)
    assert np.any(report.is_divergent)
    assert lengths.size >= (3 if doublings == 2 else 10), lengths  # ends within subtrees too
    assert lengths.max() == 2**doublings - 1


def test_random_numbers_of_a_transition_are_distinct():
    """Momenta, doublings and leaves use different counters of a key; the coin is not part of the uniform number."""
    keys = jax.random.split(jax.random.key(3), 2000)

    def numbers(key):
        randomness = draw_randomness(key, DIM)
        tosses = [randomness.doubling(jnp.asarray(n)) for n in range(3)]
        leaves = [randomness.leaf(jnp.asarray(n), jnp.asarray(s)) for n in range(3) for s in range(2**n)]
        return jnp.stack(
            [jax.scipy.special.ndtr(x) for x in randomness.momentum]
            + [x for coin, uniform in tosses for x in (coin.astype(float), uniform)]
            + leaves
        )

    table = np.asarray(jax.jit(jax.vmap(numbers))(keys))
    correlations = np.corrcoef(table.T) - np.eye(table.shape[1])
    assert np.abs(correlations).max() < 5.5 / np.sqrt(len(keys))  # 120 pairs, each with probability 4e-8
    np.testing.assert_allclose(table.mean(axis=0), 0.5, atol=5.5 * 0.5 / np.sqrt(len(keys)))


@pytest.mark.parametrize("arms", [4, MAX_WHITENED_ARMS + 1])
def test_whitened_arms_give_the_same_density(arms):
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(DIM, DIM)) + 2 * np.eye(DIM)
    gaussian = Gaussian(jnp.asarray(factor @ factor.T), jnp.asarray(rng.normal(size=DIM)))
    tilt = Tilt(jnp.asarray(rng.normal(size=(arms, DIM))), 2.0)

    def logdensity(x):
        return gaussian.shift @ x - x @ gaussian.precision @ x / 2 + tilt.scale * jnp.max(tilt.actions @ x)

    target = Target(logdensity, gaussian=gaussian, moments=gaussian.moments, tilt=tilt)
    preconditioned = NUTS().precondition(target, jnp.zeros(DIM))
    points = jnp.asarray(rng.normal(size=(20, DIM)))
    ours = jax.vmap(preconditioned.logdensity)(points)
    expected = jax.vmap(lambda z: logdensity(preconditioned.to_target(z)))(points)
    np.testing.assert_allclose(ours - ours[0], expected - expected[0], rtol=1e-10, atol=1e-10)
    slopes = jax.vmap(jax.grad(preconditioned.logdensity))(points)
    numerical = jax.vmap(jax.grad(lambda z: logdensity(preconditioned.to_target(z))))(points)
    np.testing.assert_allclose(slopes, numerical, rtol=1e-9, atol=1e-9)
