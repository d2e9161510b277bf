"""K-armed bandits, disjoint arms and the pessimistic class."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.montecarlo import SEED, assert_mean

from fgtsva_ppl import TS, Linear, Thompson
from fgtsva_ppl.agents import AGENTS, BetaTS
from fgtsva_ppl.environments import Arms, Cube, Disjoint, FiniteClass
from fgtsva_ppl.posteriors.exact import gaussian_part
from fgtsva_ppl.rewards.finite import class_table, pessimistic_table
from fgtsva_ppl.simulation import check
from fgtsva_ppl.types import Round
from samplers import SAMPLERS, Exact
from samplers.errors import InputError

NEEDS_MORE = {"polya_gamma"}  # its posterior is that of a logistic reward


@pytest.mark.slow
@pytest.mark.parametrize("rewards", ["gaussian", "bernoulli"])
def test_every_sampler_and_agent_runs_on_arms(rewards):
    environment = Arms(arms=3, rewards=rewards)
    for name in SAMPLERS.names():
        if name not in NEEDS_MORE:
            check(environment, Thompson(posterior=TS(), sampler=SAMPLERS.build(name)), 4)
    for name in AGENTS.names():
        check(environment, AGENTS.build(name), 4)


def test_one_arm_is_better_by_the_gap():
    environment = Arms(arms=4, gap=0.3)
    means = np.stack([environment.start(jax.random.key(i)).theta for i in range(40)])
    assert np.all(np.sort(means, axis=1) == [0, 0, 0, 0.3])
    assert set(means.argmax(axis=1)) == {0, 1, 2, 3}
    assert environment.shape == (4, 4, True, True)


def test_the_posterior_is_the_conjugate_one_of_each_arm():
    """Precision 1/s^2 + n/sd^2 and mean (sum of rewards / sd^2) / precision, arm by arm."""
    environment, agent = Arms(arms=3, scale=0.5), Thompson(Linear(prior_scale=2.0), TS(eta=2.0), Exact())
    state = agent.start(jax.random.key(0), environment.shape)
    state = agent.grow(state, 8)
    round = agent.embed(Round(jnp.eye(3), jnp.asarray(0.5)))
    plays = [(0, 1.0), (1, -0.5), (0, 0.4), (0, 0.1)]
    for action, reward in plays:
        state = agent.update(state, round, jnp.asarray(action), jnp.asarray(reward))
    prior = agent.model(3, 3).gaussian
    gaussian = gaussian_part(prior, state.history.data)
    counts, sums = np.array([3, 1, 0]), np.array([1.5, -0.5, 0.0])
    assert np.asarray(gaussian.precision) == pytest.approx(np.diag(1 / 4 + counts / 0.25))
    mean = np.linalg.solve(gaussian.precision, gaussian.shift)
    assert mean == pytest.approx(sums / 0.25 / (1 / 4 + counts / 0.25))


def test_bernoulli_arms_pay_zero_or_one_with_their_means():
    environment = Arms(arms=3, gap=0.4, rewards="bernoulli")
    instance = environment.start(jax.random.key(SEED))
    assert sorted(np.asarray(instance.theta)) == pytest.approx([0.3, 0.3, 0.7])
    rewards = jax.vmap(lambda key: environment.round(key, instance, jnp.asarray(0))[1].rewards)(
        jax.random.split(jax.random.key(SEED), 4000)
    )
    assert set(np.unique(rewards)) == {0.0, 1.0}
    assert_mean(np.asarray(rewards), np.asarray(instance.theta))


def test_beta_posterior_counts_successes_and_failures():
    agent, round = BetaTS(), Round(jnp.eye(2), jnp.asarray(0.5))
    state = agent.start(jax.random.key(0), Arms(arms=2).shape)
    for reward in (1.0, 0.0, 1.0):
        state = agent.update(state, round, jnp.asarray(1), jnp.asarray(reward))
    assert np.asarray(state.successes).tolist() == [1, 3]
    assert np.asarray(state.failures).tolist() == [1, 2]
    actions = jax.vmap(lambda key: agent.act(key, state, round)[1])(
        jax.random.split(jax.random.key(SEED), 4000)
    )
    # P(Beta(3, 2) > U) is the mean of Beta(3, 2).
    assert_mean(np.asarray(actions, float), 3 / 5)
    broken = agent.update(state, round, jnp.asarray(0), jnp.asarray(2.0))
    assert int(agent.act(jax.random.key(0), broken, round)[2].num_resets) == 1


def test_disjoint_arms_share_the_context_and_no_coefficient():
    environment = Disjoint(arms=3, context_dim=2)
    instance = environment.start(jax.random.key(0))
    round, outcome = environment.round(jax.random.key(1), instance, jnp.asarray(0))
    context = np.asarray(round.actions[0, :2])
    assert np.asarray(round.actions) == pytest.approx(np.kron(np.eye(3), context))
    assert np.asarray(outcome.means) == pytest.approx(np.asarray(instance.theta).reshape(3, 2) @ context)


def test_means_that_are_norms_of_vectors():
    """The mean square of a norm of d entries N(0, s^2) is d s^2."""
    environment = Arms(arms=4, vectors=3, spread=2.0)
    keys = jax.random.split(jax.random.key(SEED), 2000)
    norms = np.asarray(jax.vmap(lambda key: environment.start(key).theta)(keys))
    assert np.all(norms > 0)
    assert_mean(norms**2, np.full(4, 12.0))


def test_arms_in_a_cube_stay_for_a_run():
    environment = Cube(dim=4, arms=500, scale=0.5)
    instance = environment.start(jax.random.key(SEED))
    actions = np.asarray(instance.actions)
    assert actions.shape == (500, 4)
    assert_mean(actions, np.zeros(4))
    assert_mean(actions**2, np.full(4, 1 / 12))  # the square of a uniform on [-1/2, 1/2]
    assert np.abs(actions).max() <= 0.5
    rounds = [environment.round(jax.random.key(t), instance, jnp.asarray(t))[0] for t in range(2)]
    assert np.array_equal(rounds[0].actions, rounds[1].actions)
    assert environment.shape == (500, 4, True, True)


def test_the_pessimistic_class():
    table = pessimistic_table(50, 3)
    assert table[0].argmax() == 1
    assert np.all(table[1:].argmax(axis=1) == 0)
    assert np.all(table[:, 0] == 0.5)  # an arm that tells nothing
    assert len(np.unique(table, axis=0)) == 50
    environment = FiniteClass(arms=3, members=50, functions="pessimistic")
    assert np.asarray(environment.start(jax.random.key(5)).theta) == pytest.approx(table[0])
    with pytest.raises(InputError, match="at least two arms"):
        class_table("pessimistic", 4, 1, 0)
