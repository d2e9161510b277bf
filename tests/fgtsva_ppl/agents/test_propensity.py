"""The probability of the played arm: closed forms against draws, replicas against the posterior, restarted samplers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fgtsva_ppl import FGTSVA, MALA, SGLD, TS, Exact, InputError, Logistic, Thompson, WithFeedback, simulate
from fgtsva_ppl.agents._propensity import _of_two_arms
from fgtsva_ppl.agents.refresh import Periodic
from fgtsva_ppl.environments.arms import Arms
from fgtsva_ppl.feedback import Delayed
from fgtsva_ppl.types import Round, Shape
from samplers.reference.control import Control
from tests.helpers.montecarlo import SEED, assert_frequencies, assert_mean

TWO = Arms(arms=2, spread=0.3)


def target_of(actions, posterior):
    """The posterior of a round after two rewards."""
    agent = Thompson(posterior=posterior, sampler=Exact()).for_horizon(10)
    state = agent.start(jax.random.key(0), Shape(2, 2, fixed_actions=False, linear=True))
    round = agent.embed(Round(jnp.asarray(actions), jnp.asarray(0.8)))
    for arm, reward in ((0, 0.5), (1, -0.2)):
        state = agent.update(state, round, jnp.asarray(arm), jnp.asarray(reward))
    return agent.target(state, round)


@pytest.mark.parametrize("posterior", [TS(), FGTSVA(c=0.5, alpha=0.5)])
def test_the_probability_of_one_of_two_arms_is_that_of_exact_draws(posterior):
    actions = np.array([[1.0, 0.2], [0.3, 0.9]])
    target = target_of(actions, posterior)
    draws = np.asarray(jax.jit(lambda key: target.exact_draws(key, 20_000))(jax.random.key(SEED)))
    counts = np.bincount((draws @ actions.T).argmax(axis=1), minlength=2)
    assert_frequencies(counts, np.asarray(_of_two_arms(target)))


def test_of_two_equal_arms_the_first_is_played():
    np.testing.assert_array_equal(_of_two_arms(target_of(np.ones((2, 2)), FGTSVA())), [1.0, 0.0])


@pytest.mark.slow
def test_exact_propensities_are_those_with_which_arms_are_played():
    """E[1 / p of the played arm] is the number of arms, where p is exact; and it has no error."""
    agent = Thompson(posterior=TS(), sampler=Exact(), propensity_draws=1)
    played = simulate(TWO, agent, rounds=5, runs=2000, seed=SEED)
    assert_mean(1 / played.propensity[:, 2:3], 2.0)
    assert not played.propensity_error.any()


def test_replicas_know_a_wrong_sampler_and_the_posterior_does_not():
    """Draws half as wide: by replicas the better arm is played as often as it is, by the posterior less often."""
    found = {}
    for source in ("replicas", "posterior"):
        agent = Thompson(
            posterior=TS(), sampler=Control(spread=0.5), propensity_draws=100, propensity_from=source
        )
        found[source] = simulate(TWO, agent, rounds=5, runs=1000, seed=SEED)
    own, posterior = found["replicas"], found["posterior"]
    np.testing.assert_array_equal(own.action, posterior.action)  # propensities change no draw
    estimated = 1 / own.propensity[:, 2:3]  # unbiased but for arms that 100 replicas do not choose
    assert np.mean(estimated) == pytest.approx(2.0, abs=5 * np.std(estimated) / np.sqrt(1000) + 0.02)
    assert np.mean(1 / posterior.propensity[:, 2]) < 1.9
    assert own.propensity_error.max() <= 0.5 / np.sqrt(101) + 1e-7
    assert not posterior.propensity_error.any()  # two arms: a closed form


def test_the_posterior_gives_propensities_only_where_it_can_be_drawn_from():
    agent = Thompson(Logistic(), TS(), MALA(), propensity_draws=2, propensity_from="posterior")
    with pytest.raises(InputError, match="propensity_from=posterior needs exact draws"):
        simulate(TWO, agent, rounds=2, runs=1)


@pytest.mark.slow
def test_a_restart_in_every_round_is_a_cold_start():
    sampler, numbers = SGLD(num_steps=2), {"rounds": 6, "runs": 2}
    cold = simulate(TWO, Thompson(posterior=TS(), sampler=sampler, warm_start=False), **numbers)
    restarted = simulate(TWO, Thompson(posterior=TS(), sampler=sampler, restart_every=1), **numbers)
    np.testing.assert_array_equal(cold.action, restarted.action)
    with pytest.raises(InputError, match="starts anew in every round already"):
        simulate(TWO, Thompson(sampler=sampler, warm_start=False, restart_every=3), **numbers)


def test_a_posterior_is_sampled_by_rounds_also_where_rewards_are_lost():
    """Every third round, although no reward ever arrives."""
    agent = Thompson(posterior=TS(), sampler=SGLD(num_steps=2), refresh=Periodic(period=3))
    played = simulate(WithFeedback(TWO, Delayed("constant", 0, lost=1.0, memory=2)), agent, rounds=9, runs=2)
    np.testing.assert_array_equal(played.num_gradients > 0, [[True, False, False] * 3] * 2)
