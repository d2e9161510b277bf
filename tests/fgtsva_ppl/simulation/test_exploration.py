"""Forced exploration in the loop, and refresh schedules of the Thompson agent."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.montecarlo import SEED

from fgtsva_ppl import SGLD, TS, Linear, Thompson, simulate
from fgtsva_ppl.agents import Clairvoyant
from fgtsva_ppl.agents.refresh import Counts, Doubling, EveryRound, Periodic
from fgtsva_ppl.environments import Arms
from fgtsva_ppl.simulation.exploration import ConstantExploration, DecayingExploration, NoExploration

ENVIRONMENT = Arms(arms=4, gap=1.0)


def test_schedules():
    t = jnp.arange(1, 6)
    assert ConstantExploration(rate=0.2).probability(t[0]) == pytest.approx(0.2)
    decaying = [float(DecayingExploration(rate=2.0).probability(one)) for one in t]
    assert decaying == pytest.approx([1.0, 1.0, 2 / 3, 0.5, 0.4])
    assert NoExploration().probability(t[0]) == 0


def test_the_loop_plays_uniform_arms_with_the_given_probability():
    """The clairvoyant has no regret, so that only exploration makes some."""
    rate, rounds, runs = 0.4, 200, 50
    constant = simulate(
        ENVIRONMENT,
        Clairvoyant(),
        exploration=ConstantExploration(rate=rate),
        rounds=rounds,
        runs=runs,
        seed=SEED,
    )
    expected = rate * 3 / 4  # an exploring round hits the best arm with probability 1/4
    error = np.sqrt(expected * (1 - expected) / (rounds * runs))
    assert abs(constant.regret.mean() - expected) < 5 * error
    never = simulate(
        ENVIRONMENT,
        Clairvoyant(),
        exploration=ConstantExploration(rate=0.0),
        rounds=rounds,
        runs=runs,
        seed=SEED,
    )
    assert never.regret.sum() == 0
    explored = constant.regret > 0
    assert abs(np.corrcoef(explored[:, :-1].ravel(), explored[:, 1:].ravel())[0, 1]) < 5 / np.sqrt(
        rounds * runs
    )


def test_doubling_and_periodic_schedules_by_hand():
    for schedule, plays, expected in (
        (Doubling(), [0, 0, 0, 0, 1, 0, 1, 1], [1, 1, 1, 0, 1, 1, 0, 1]),
        (Periodic(period=3), [0] * 7, [1, 0, 0, 1, 0, 0, 1]),
        (EveryRound(), [0] * 3, [1, 1, 1]),
    ):
        counts, found = Counts.start(2), []
        for action in plays:
            due = schedule.due(counts)
            found.append(int(due))
            counts = counts.refreshed(due).played(jnp.asarray(action)).round_ended()
        assert found == expected, schedule


def test_a_kept_draw_costs_no_gradient_and_plays_the_same_arm():
    agent = Thompson(Linear(prior_scale=1.0), TS(), SGLD(num_steps=3), refresh=Doubling())
    played = simulate(ENVIRONMENT, agent, rounds=64, runs=4)
    sampled = played.num_gradients > 0
    assert set(np.unique(played.num_gradients)) == {0, 3}
    assert np.all(sampled[:, 0])
    assert np.all(sampled.sum(axis=1) < 4 * (np.log2(64) + 2))
    kept = ~sampled[:, 1:]
    assert np.all((played.action[:, 1:] == played.action[:, :-1])[kept])
    assert np.all(played.num_repeats[:, 1:][kept] == 0)


@pytest.mark.slow
def test_a_period_of_one_is_every_round():
    agents = [
        Thompson(Linear(), TS(), SGLD(num_steps=3), refresh=r) for r in (EveryRound(), Periodic(period=1))
    ]
    first, second = (simulate(ENVIRONMENT, agent, rounds=32, runs=2) for agent in agents)
    assert np.array_equal(first.action, second.action)
    assert jax.tree.structure(first.record) == jax.tree.structure(second.record)
