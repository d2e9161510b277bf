"""Baselines: labels, rejected environments, and regret that grows more slowly than the rounds."""

import math
import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.montecarlo import assert_frequencies, standard_error, z_bound
from helpers.played_rounds import rest_is_slow

from fgtsva_ppl import GP, MLP, SGLD, Contextual, Dense, Exact, Homoscedastic, Sparse, Thompson, simulate
from fgtsva_ppl.agents import (
    AGENTS,
    OFUL,
    SAVE,
    Clairvoyant,
    EpsilonGreedy,
    Greedy,
    LinNATS,
    LinTS,
    LinVDTS,
    Uniform,
    WeightedOFUL,
)
from fgtsva_ppl.posteriors.feel_good import FGTSA, FGTSB, FGTSVA
from fgtsva_ppl.rewards import flat_model
from fgtsva_ppl.simulation import check
from fgtsva_ppl.types import Round, Shape
from samplers.errors import InputError
from samplers.settings import documentation, settings

KEY = jax.random.key(0)
ONE = Shape(arms=1, dim=1, fixed_actions=True, linear=True)
LINEAR_ONLY = ["oful", "weighted_oful", "save", "lints", "linnats", "linvdts"]
ANYWHERE = ["thompson", "greedy", "epsilon_greedy", "uniform", "clairvoyant"]


@settings
class OneByOne(Dense):
    """Every run has a matrix of arms of its own, and the compiler another product to round."""

    def instance_actions(self, key):
        return self.round_actions(key)


@pytest.mark.parametrize("agent", [OFUL(radius=0.03), WeightedOFUL(radius=0.3), SAVE(radius=0.1)], ids=repr)
def test_ties_up_to_rounding_do_not_change_actions(agent: Any) -> None:
    """Arms that mirror each other have equal scores: of 25 runs of OFUL most went another way, once."""
    together, alone = (simulate(bandit, agent, rounds=200, runs=25) for bandit in (Dense(), OneByOne()))
    np.testing.assert_array_equal(together.action, alone.action)


def test_every_agent_is_registered_with_a_label_and_documented_settings() -> None:
    assert {*LINEAR_ONLY, *ANYWHERE} <= set(AGENTS.names())
    for name in (*LINEAR_ONLY, *ANYWHERE[1:]):
        cls = AGENTS[name]
        assert cls.label
        assert all(documentation(cls).values())
    assert LinVDTS.label == "LinVDTS-style"
    assert LinNATS.label == "LinNATS-style"


@settings
class Bent(Contextual):
    """A reward that is not linear in the features."""

    @property
    def shape(self) -> Shape:
        return super().shape._replace(linear=False)


@pytest.mark.parametrize("name", LINEAR_ONLY)
def test_linear_agents_reject_nonlinear_rewards_before_compiling(name: str) -> None:
    agent = AGENTS.build(name)
    check(Contextual(), agent, 10)
    with pytest.raises(InputError, match=f"agent {re.escape(agent.label)} .* linear"):
        check(Bent(), agent, 10)


@pytest.mark.parametrize("name", ANYWHERE[1:])
def test_other_agents_run_in_any_environment(name: str) -> None:
    check(Bent(), AGENTS.build(name), 10)


def test_bernstein_needs_the_floor() -> None:
    with pytest.raises(InputError, match="needs the gamma floor"):
        check(Sparse(), WeightedOFUL(floor=False), 10)


def test_clairvoyant_has_no_regret_and_uniform_plays_all_arms_equally_often() -> None:
    known = simulate(Contextual(dim=2, arms=4), Clairvoyant(), rounds=20, runs=3)
    assert np.all(known.regret == 0)
    assert len(np.unique(known.action)) == 4
    uniform = simulate(Contextual(dim=2, arms=4), Uniform(), rounds=200, runs=3)
    assert_frequencies(np.bincount(uniform.action.ravel(), minlength=4), np.full(4, 0.25))


def test_thompson_sampling_with_heteroscedastic_weights_is_fgts_va_without_optimism() -> None:
    agent = Thompson(posterior=FGTSVA(c=0.0), sampler=Exact()).for_horizon(100)
    state = agent.grow(agent.start(KEY, Sparse(dim=2).shape), 8)
    arms, sigmas, rewards = np.eye(2), [0.0, 2.0, 0.5], [1.0, -1.0, 0.3]
    precision, moment = 2 * np.eye(2), np.zeros(2)
    for t, (sigma, reward) in enumerate(zip(sigmas, rewards, strict=True)):
        seen = Round(jnp.asarray(arms), jnp.asarray(sigma))
        state = agent.update(state, agent.embed(seen), jnp.asarray(t % 2), jnp.asarray(reward))
        weight = 2 / max(sigma, 0.1) ** 2
        precision += weight * np.outer(arms[t % 2], arms[t % 2])
        moment += weight * reward * arms[t % 2]
    target = agent.target(state, agent.embed(Round(jnp.asarray(arms), jnp.asarray(1.0))))
    assert target.gaussian is not None
    np.testing.assert_allclose(target.gaussian.precision, precision)
    np.testing.assert_allclose(target.gaussian.shift, moment)
    points = jnp.asarray([[0.3, -0.2], [1.0, 2.0]])
    gaussian = [-x @ precision @ x / 2 + moment @ x for x in np.asarray(points)]
    density = jax.vmap(target.logdensity)(points)
    np.testing.assert_allclose(density[0] - density[1], gaussian[0] - gaussian[1])


# Where theory says that regret is sub-linear, and 1000 rounds are enough to see it. They are not for the textbook
# Bernstein radius of Weighted OFUL+ (local slope 0.93) and LinNATS, for SAVE and LinVDTS-style with the textbook
# radius (no arm can be dropped in the layers that are reached: slope 1), and for LinTS with its factor sqrt(9 d log):
# those radii exceed the range of the rewards throughout. FGTS-A has one optimism for the whole horizon, which adds up
# over the rounds of a run (slope 0.98). With alpha = 1/sqrt(T) FGTS-VA's 20 Langevin steps are too few in sparse noise:
# a few runs cost so much that the slope is not certain (0.79). The tuned forms below show the algorithms themselves.
SUBLINEAR = {
    "oful": (OFUL(), Sparse()),
    "weighted oful, sub-Gaussian": (WeightedOFUL(bound="subgaussian", floor=False), Dense()),
    "weighted oful+, sub-Gaussian": (WeightedOFUL(bound="subgaussian"), Sparse()),
    "lints, tuned": (LinTS(radius=0.1), Sparse()),
    "linnats, sub-Gaussian": (LinNATS(bound="subgaussian", floor=False), Dense()),
    "save, tuned": (SAVE(constants="practical", radius=0.3), Sparse()),
    "linvdts, tuned": (LinVDTS(constants="practical", radius=0.3), Sparse()),
    "epsilon-greedy": (EpsilonGreedy(), Homoscedastic()),
    "fgts-va": (Thompson(posterior=FGTSVA(), sampler=Exact()), Dense()),
    "fgts-va, sgld, tuned": (Thompson(posterior=FGTSVA(alpha=0.1), sampler=SGLD(step_size=1.5)), Sparse()),
    "ts, weighted": (Thompson(posterior=FGTSVA(c=0.0), sampler=Exact()), Dense()),
    "fgts-b": (Thompson(posterior=FGTSB(), sampler=Exact()), Sparse()),
    "fgts-a, tuned": (Thompson(posterior=FGTSA(eta=2.0, lam=0.003), sampler=Exact()), Sparse()),
}
SLOPE = 0.85


@pytest.mark.parametrize("case", rest_is_slow(SUBLINEAR, ["save, tuned"]))
def test_regret_is_sublinear(case: str) -> None:
    """R(T) < 2^0.85 R(T/2), with a false-alarm probability below one in a million."""
    agent, environment = SUBLINEAR[case]
    result = simulate(environment, agent, rounds=1000, runs=100)
    total = result.cumulative_regret
    gap = total[:, -1] - 2**SLOPE * total[:, 499]
    assert np.mean(gap) + z_bound(1) * standard_error(gap) < 0
    assert not np.any(result.num_resets)


@pytest.mark.slow
def test_greedy_and_uniform_regret_is_linear() -> None:
    """Negative control: a sub-linear result here would mean that the loop is broken."""
    for agent in (Greedy(), Uniform()):
        total = simulate(Sparse(), agent, rounds=1000, runs=50).cumulative_regret.mean(0)
        assert math.log2(total[-1] / total[499]) > 0.9


@pytest.mark.parametrize("cls", [SAVE, LinVDTS])
def test_one_program_serves_all_radii(cls: Any) -> None:
    traces = []

    def act(agent: Any, state: Any, seen: Round) -> Any:
        traces.append(1)
        return agent.act(KEY, state, seen)[1]

    program = jax.jit(act)
    for radius, alpha in ((1.0, 0.1), (0.1, 0.01)):
        agent = cls(radius=radius, alpha=alpha, layers=4).for_horizon(100)
        program(agent, agent.start(KEY, ONE), Round(jnp.ones((1, 1)), jnp.asarray(0.0)))
    assert len(traces) == 1


def test_greedy_regresses_on_the_features_of_the_reward() -> None:
    bandit, reward = Contextual(dim=2, arms=3), GP(features=7, lengthscale=0.5)
    agent = EpsilonGreedy(reward=reward, lam=0.5, epsilon=0.0)
    state = agent.start(KEY, bandit.shape)
    precision, moment = 0.5 * np.eye(7), np.zeros(7)
    for t, answer in enumerate((1.0, -0.5, 0.3)):
        seen, _ = bandit.round(jax.random.fold_in(KEY, t), bandit.start(KEY), jnp.asarray(t))
        features, round = np.asarray(flat_model(reward, 2, 3).embed(seen.actions)), agent.embed(seen)
        np.testing.assert_allclose(
            agent.scores(KEY, state, round), features @ np.linalg.solve(precision, moment), atol=1e-10
        )
        state = agent.update(state, round, jnp.asarray(t), jnp.asarray(answer))
        precision += np.outer(features[t], features[t])
        moment += answer * features[t]
    with pytest.raises(InputError, match="needs a reward that is linear in its features"):
        check(bandit, Greedy(reward=MLP()), 10)
