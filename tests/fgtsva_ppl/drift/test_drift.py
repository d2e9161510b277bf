"""Paths of the truth: what they are, that they are the same for all agents, and that a round can be regenerated."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fgtsva_ppl import Contextual, InputError, Sparse, WithDrift, WithFeedback, WithNoise, simulate
from fgtsva_ppl.agents import Uniform
from fgtsva_ppl.drift import DRIFTS, AdversarialSwap, Jumps, Periodic, Walk
from fgtsva_ppl.environments import ENVIRONMENTS, LogisticBandit
from fgtsva_ppl.environments.arms import Arms
from fgtsva_ppl.environments.linear import turned
from fgtsva_ppl.environments.noise import ConstantNoise
from fgtsva_ppl.feedback import Batched
from fgtsva_ppl.simulation import instance_of_round
from fgtsva_ppl.simulation.rounds import play_round, start_run
from samplers.settings import settings
from tests.helpers.montecarlo import SEED, assert_mean

ROUNDS = 12
SPARSE = Sparse(dim=3)


def truths(environment, drift, key=0, rounds=ROUNDS):
    """The truth of every round of a run."""
    drifting = WithDrift(environment, drift)
    key = jax.random.key(key)
    instances = jax.jit(jax.vmap(lambda t: instance_of_round(drifting, key, t)))(jnp.arange(rounds))
    return np.asarray(jax.tree.leaves(instances.inner)[0])


def test_a_turn_by_a_quarter_is_the_other_vector_and_by_a_half_the_opposite():
    x, y = jax.random.normal(jax.random.key(SEED), (2, 4))
    np.testing.assert_allclose(turned(x, y, jnp.asarray(0.0)), x, rtol=1e-12)
    np.testing.assert_allclose(turned(x, y, jnp.asarray(np.pi / 2)), y, rtol=1e-12)
    np.testing.assert_allclose(turned(x, y, jnp.asarray(np.pi)), -x, rtol=1e-12)
    unit = [v / jnp.linalg.norm(v) for v in (x, y)]
    for angle in (0.1, 2.0, 5.0):
        assert np.linalg.norm(turned(*unit, jnp.asarray(angle))) == pytest.approx(1, abs=1e-12)
    one = jnp.ones(1)
    assert np.isfinite(
        turned(one, -one, jnp.asarray(np.pi / 4))
    ).all()  # between opposites there is no direction


def test_a_walk_moves_by_its_rate_and_keeps_the_distribution_of_the_truth():
    path = truths(SPARSE, Walk(rate=0.02))
    np.testing.assert_allclose(np.linalg.norm(path, axis=1), 1, atol=1e-12)
    steps = np.arccos(np.sum(path[1:] * path[:-1], axis=1))
    assert np.all((steps > 0) & (steps < 0.025))
    logistic = WithDrift(LogisticBandit(dim=2, steepness=3.0), Walk(rate=0.5))
    last = jax.jit(jax.vmap(lambda key: instance_of_round(logistic, key, jnp.asarray(5)).inner))
    keys = jax.random.split(jax.random.key(SEED), 4000)
    assert_mean(np.asarray(last(keys)) ** 2, 9.0)


def test_a_jump_replaces_the_truth_once():
    path = truths(SPARSE, Jumps(at=5))
    assert np.all(path[:4] == path[0])  # rounds 1 to 4
    assert np.all(path[4:] == path[4])
    assert not np.any(path[4] == path[0])
    random = truths(SPARSE, Jumps(rate=0.3), rounds=200)
    jumps = np.any(random[1:] != random[:-1], axis=1)
    assert 30 < jumps.sum() < 90


def test_a_period_brings_the_truth_back():
    path = truths(SPARSE, Periodic(period=6))
    np.testing.assert_allclose(path[6], path[0], atol=1e-12)
    np.testing.assert_allclose(path[9], -path[0], atol=1e-12)
    assert np.linalg.norm(path[1] - path[0]) > 0.1


def test_a_swap_makes_the_best_arm_the_worst():
    path = truths(Contextual(dim=3, arms=4), AdversarialSwap(period=4))
    arms = np.asarray(jax.random.normal(jax.random.key(SEED), (7, 3)))
    for before, after in ((0, 4), (4, 8)):
        assert np.argmax(arms @ path[before]) == np.argmin(arms @ path[after])
    assert np.all(path[:4] == path[0])


@pytest.mark.parametrize("environment", [Sparse(dim=3, arms=4), WithNoise(SPARSE, ConstantNoise(0.5))])
def test_a_probe_regenerates_the_round_that_was_played(environment):
    drifting, key = WithDrift(environment, Walk(rate=0.3)), jax.random.key(7)

    @jax.jit
    def played(key):
        def step(carry, t):
            return play_round(drifting, Uniform(), key, carry, t)[0], carry.instance

        return jax.lax.scan(step, start_run(drifting, Uniform(), key), jnp.arange(ROUNDS))[1]

    regenerated = jax.jit(jax.vmap(lambda t: instance_of_round(drifting, key, t)))(jnp.arange(ROUNDS))
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-13), played(key), regenerated)


def test_regret_is_that_to_the_best_arm_of_the_round():
    """Before the swap a constant arm has regret g, after it max + min - g, if the arms are symmetric."""
    swaps = WithDrift(SPARSE, AdversarialSwap(period=4))
    path = simulate(swaps, _First(), rounds=8, runs=2).regret
    best = np.sum(np.abs(truths_of_runs(swaps, 2)), axis=1) / np.sqrt(3)
    np.testing.assert_allclose(path[:, 0] + path[:, 4], 2 * best, rtol=1e-12)


def truths_of_runs(environment, runs):
    from fgtsva_ppl.simulation import run_keys

    first = jax.jit(jax.vmap(lambda key: instance_of_round(environment, key, jnp.asarray(0)).inner.theta))
    return np.asarray(first(run_keys(0, np.arange(runs))))


@settings
class _First(Uniform):
    def act(self, key, state, round):
        state, _, info = super().act(key, state, round)
        return state, jnp.zeros((), int), info


def test_an_environment_whose_truth_cannot_drift_is_named():
    cannot = [name for name, cls in ENVIRONMENTS if not cls().can_drift]
    assert {"finite", "wheel", "digits"} <= {*cannot}
    for name in ("finite", "wheel"):
        with pytest.raises(InputError, match=r"drift: the truth of environment \w+ cannot drift"):
            simulate(WithDrift(ENVIRONMENTS[name](), Walk()), Uniform(), rounds=2, runs=1)
    assert "walk" in DRIFTS.names()


@pytest.mark.parametrize(
    "drift", [Walk(rate=0.4), Jumps(rate=0.5), Periodic(period=6), AdversarialSwap(period=3)]
)
def test_means_of_bernoulli_arms_stay_probabilities(drift):
    path = truths(Arms(arms=4, rewards="bernoulli"), drift)
    assert np.all((path >= 0) & (path <= 1))
    assert len(np.unique(path[:, 0])) > 1
    if isinstance(drift, AdversarialSwap):
        np.testing.assert_allclose(path[3], 1 - path[0], atol=1e-12)


@pytest.mark.parametrize("at", [1, 11])
def test_a_jump_outside_of_the_horizon_is_an_error(at):
    drifting = WithFeedback(WithDrift(SPARSE, Jumps(at=at)), Batched(2))
    with pytest.raises(InputError, match=f"drift.at={at} must be from 2 to rounds=10"):
        simulate(drifting, Uniform(), rounds=10, runs=1)


def test_drift_around_feedback_keeps_the_feedback():
    assert WithDrift(WithFeedback(SPARSE, Batched(2)), Walk()).feedback == Batched(2)
