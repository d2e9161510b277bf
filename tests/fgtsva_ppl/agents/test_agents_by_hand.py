"""Baselines on small cases that were computed by hand, branch by branch and round by round."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fgtsva_ppl.agents import OFUL, SAVE, LinNATS, LinTS, LinVDTS, WeightedOFUL
from fgtsva_ppl.agents import ridge as ridge_module
from fgtsva_ppl.agents.ridge import Ridge, inverse_root, ridge
from fgtsva_ppl.agents.save import SAVEState
from fgtsva_ppl.types import Round, Shape

KEY = jax.random.key(0)
ONE = Shape(arms=1, dim=1, fixed_actions=True, linear=True)


def one_arm(sigma: float) -> Round:
    return Round(jnp.ones((1, 1)), jnp.asarray(sigma))


def pulled(agent: Any, state: Any, sigma: float, reward: float) -> Any:
    seen = one_arm(sigma)
    state, action, _ = agent.act(KEY, state, seen)
    return agent.update(state, seen, action, jnp.asarray(reward))


def test_the_floor_takes_the_norm_before_the_update() -> None:
    agent = WeightedOFUL(gamma=2.0, alpha=0.1, noise=1.0, delta=0.1, lam=4.0)
    state = agent.start(KEY, ONE)
    # Sigma = 4, ||a|| = 1/2: sbar^2 = max(0, 0.01, 4 * 1/2) = 2, Sigma = 4.5. After the update it would be 1.886.
    state = pulled(agent, state, 0.0, 3.0)
    np.testing.assert_allclose(state.ridge.precision, 4.5)
    np.testing.assert_allclose(state.ridge.estimate, 1.5 / 4.5)
    # A noisier datum than the floor weighs 1/sigma^2.
    state = pulled(agent, state, 5.0, 3.0)
    np.testing.assert_allclose(state.ridge.precision, 4.5 + 1 / 25)


def test_without_the_floor_a_datum_weighs_by_its_variance() -> None:
    agent = WeightedOFUL(floor=False, bound="subgaussian", alpha=0.1, delta=0.1, lam=4.0, tail=1.0)
    state = pulled(agent, agent.start(KEY, ONE), 0.0, 3.0)
    np.testing.assert_allclose(state.ridge.precision, 4 + 100)


def test_the_bernstein_radius_by_hand() -> None:
    agent = WeightedOFUL(gamma=2.0, alpha=0.5, noise=3.0, delta=0.1, lam=4.0, norm=1.5, reach=2.0)
    # k = 1: log = log(32 (log 8 + 1)/0.1), width = log(1 + 4/(0.25 * 4)), R/gamma^2 = 3/4, sqrt(lam) B = 3.
    log = math.log(320 * (math.log(8) + 1))
    expected = 12 * math.sqrt(math.log(5) * log) + 30 * log * 0.75 + 3
    np.testing.assert_allclose(agent.beta(agent.start(KEY, ONE), one_arm(0.0)), expected, rtol=1e-12)


def test_the_radius_is_finite_while_no_noise_has_been_seen() -> None:
    agent = WeightedOFUL().for_horizon(100)
    beta = agent.beta(agent.start(KEY, ONE), one_arm(0.0))
    log = math.log(32 * 100)
    expected = 12 * math.sqrt(math.log(101) * log) + 30 * log + 1
    np.testing.assert_allclose(beta, expected, rtol=1e-12)


def test_a_layer_of_save_by_hand() -> None:
    agent = SAVE(alpha=0.01, layers=3, noise=2.0, delta=0.1, tail=1.0)
    state = pulled(agent, agent.start(KEY, ONE), 0.0, 5.0)
    # Sigma_1 = 1/4, ||a|| = 2 > 1/2: branch (iii), w = (1/2)/2 = 1/4, Sigma_1 = 5/16, theta_1 = (5/16)/(5/16) = 1.
    np.testing.assert_allclose(state.ridge.precision[:, 0, 0], [5 / 16, 1 / 16, 1 / 64])
    np.testing.assert_allclose(state.ridge.moment[:, 0], [5 / 16, 0, 0])
    log_k, log_next = math.log(4 * 3 / 0.1), math.log(16 * 3 / 0.1)
    beta = 8 * math.sqrt((8 * 4 + 24 * log_next + 4) * log_k) + 6 * log_k + 1
    np.testing.assert_allclose(state.beta, [beta, 1 / 2, 1 / 4], rtol=1e-12)
    # With its own estimate of the variance: w^2 (5 - 1)^2 = 1 instead of R^2 |Psi| = 4.
    agent = SAVE(alpha=0.01, layers=3, noise=2.0, delta=0.1, tail=1.0, threshold=0.0)
    state = pulled(agent, agent.start(KEY, ONE), 0.0, 5.0)
    beta = 8 * math.sqrt((8 * 1 + 24 * log_next + 4) * log_k) + 6 * log_k + 1
    np.testing.assert_allclose(state.beta[0], beta, rtol=1e-12)


def test_rank_one_updates_of_the_root_agree_with_factorisations(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, regressions = np.random.default_rng(0), {}
    data = [
        (jnp.asarray(rng.normal(size=6)), jnp.asarray(rng.normal()), jnp.asarray(rng.gamma(1)))
        for _ in range(30)
    ]
    for limit in (5, 6):
        monkeypatch.setattr(ridge_module, "MAX_FACTORED_DIM", limit)
        regression = ridge(6, 0.3)
        for datum in data:
            regression = regression.added(*datum)
        actions = jnp.asarray(np.random.default_rng(1).normal(size=(4, 6)))
        regressions[limit] = regression.estimate, regression.norms(actions), regression.log_det
        triangular = bool(jnp.allclose(regression.root, jnp.triu(regression.root)))
        assert triangular is (limit == 6)
    for updated, factored in zip(*regressions.values(), strict=True):
        np.testing.assert_allclose(updated, factored, rtol=1e-10)


def two_arms(agent: SAVE) -> tuple[SAVEState, Round]:
    """Arms e1 and e2; layer 1 with Sigma_1 = 4 I, b_1 = (4, 0), beta_1 = 1/2, the others as at the start."""
    state = agent.start(KEY, Shape(2, 2, fixed_actions=True, linear=True))
    precision = state.ridge.precision.at[0].set(4 * jnp.eye(2))
    moment = state.ridge.moment.at[0].set(jnp.array([4.0, 0.0]))
    known = Ridge(precision, moment, jax.vmap(inverse_root)(precision))
    return state._replace(ridge=known, beta=state.beta.at[0].set(0.5)), Round(jnp.eye(2), jnp.asarray(0.0))


def test_save_goes_down_a_layer_with_the_arms_that_survive() -> None:
    agent = SAVE(alpha=0.01, layers=3, noise=2.0, delta=0.1, tail=1.0)
    state, seen = two_arms(agent)
    # Layer 1: both norms are 1/2 <= 2^-1, branch (ii); means 1 and 0, slack 2 * 2^-1 * 1/2 = 1/2: e2 is dropped.
    descent = agent.descend(state, seen.actions)
    assert int(descent.layer) == 1
    assert bool(descent.explores)
    np.testing.assert_array_equal(descent.allowed, [True, False])
    acted, arm, _ = agent.act(KEY, state, seen)
    assert int(arm) == 0
    # Layer 2: Sigma_2 = I/16, ||e1|| = 4 > 2^-2, branch (iii); w = (1/4)/4 = 1/16.
    new = agent.update(acted, seen, arm, jnp.asarray(1.0))
    np.testing.assert_allclose(new.ridge.precision[1], np.diag([1 / 16 + 1 / 256, 1 / 16]))
    np.testing.assert_allclose(new.ridge.moment[1], [1 / 256, 0])
    np.testing.assert_array_equal(new.pulls, [0, 1, 0])
    for layer in (0, 2):
        np.testing.assert_array_equal(new.ridge.precision[layer], state.ridge.precision[layer])


def test_all_arms_go_down_when_they_are_within_the_slack() -> None:
    agent = SAVE(alpha=0.01, layers=3, noise=2.0, delta=0.1, tail=1.0, radius=2.0)  # 2 * 2^-1 * 2 * 1/2 = 1
    state, seen = two_arms(agent)
    np.testing.assert_array_equal(agent.descend(state, seen.actions).allowed, [True, True])


def test_save_exploits_and_learns_nothing_where_every_arm_is_known() -> None:
    agent = SAVE(alpha=0.5, layers=3, noise=2.0, delta=0.1, tail=1.0)
    state, seen = two_arms(agent)
    # Layer 1: both norms are 1/2 <= alpha, branch (i): 1 + 1/2 * 1/2 for e1, 0 + 1/4 for e2.
    acted, arm, _ = agent.act(KEY, state, seen)
    assert (int(arm), int(acted.layer), bool(acted.explores)) == (0, 0, False)
    new = agent.update(acted, seen, arm, jnp.asarray(1.0))
    for name in ("ridge", "beta", "pulls", "square"):
        for before, after in zip(
            *map(jax.tree.leaves, (getattr(state, name), getattr(new, name))), strict=True
        ):
            np.testing.assert_array_equal(after, before)
    assert int(new.rounds) == 1


def test_horizon_fills_in_derived_settings() -> None:
    agent = SAVE().for_horizon(4000)
    R = math.sqrt(2 * math.log(2 * 4000**2))
    assert agent.alpha == pytest.approx(4000**-1.5 / R)
    assert agent.layers == math.ceil(math.log2(4000**1.5 * R)) == 21
    assert SAVE(constants="practical").for_horizon(4000).layers == 5
    assert SAVE(layers=7).for_horizon(4000).layers == 7
    weighted = WeightedOFUL().for_horizon(400)
    assert (weighted.alpha, weighted.delta) == (0.05, 0.0025)
    assert OFUL(delta=0.3).for_horizon(10).delta == 0.3


def test_the_noise_bound_follows_the_largest_sigma() -> None:
    agent = OFUL(delta=math.exp(-2))
    state = agent.start(KEY, ONE)
    for sigma in (3.0, 1.0):  # once seen, a large sigma stays
        state = pulled(agent, state, sigma, 0.0)
        V = float(state.ridge.precision[0, 0])
        beta = 3 * math.sqrt(math.log(V) + 4) + 1
        np.testing.assert_allclose(agent.scores(KEY, state, one_arm(0.5)), beta / math.sqrt(V), rtol=1e-12)


# Without a bound on the noise, as in every study: R is twice (the tail) the largest sigma, 3, in both rounds.
SIGMAS, R = (3.0, 1.0), 6.0


@pytest.mark.parametrize("cls", [SAVE, LinVDTS])
def test_the_radius_of_save_follows_the_largest_sigma(cls: Any) -> None:
    agent = cls(alpha=0.01, layers=3, delta=0.1, tail=2.0)
    state = agent.start(KEY, ONE)
    np.testing.assert_allclose(state.beta[0], 1)
    for k, sigma in enumerate(SIGMAS, start=1):
        state = pulled(agent, state, sigma, 0.0)  # ||a|| is 2, then 4/sqrt(5): branch (iii) of layer 1
        log_k, log_next = math.log(4 * k**2 * 3 / 0.1), math.log(4 * (k + 1) ** 2 * 3 / 0.1)
        beta = 8 * math.sqrt((8 * R**2 * k + 6 * R**2 * log_next + 4) * log_k) + 3 * R * log_k + 1
        np.testing.assert_allclose(state.beta[0], beta, rtol=1e-12)


@pytest.mark.parametrize("cls", [WeightedOFUL, LinNATS])
def test_the_radius_and_the_floor_of_weighted_oful_follow_the_largest_sigma(cls: Any) -> None:
    agent = cls(gamma=2.0, alpha=0.5, delta=0.1, lam=4.0, norm=1.5, reach=2.0, tail=2.0)
    state = agent.start(KEY, ONE)
    for k, sigma in enumerate(SIGMAS, start=1):
        log = math.log(320 * (math.log(8) + 1) * k**2)
        expected = 12 * math.sqrt(math.log(1 + 4 * k) * log) + 30 * log * R / 4 + 3
        np.testing.assert_allclose(agent.beta(state, one_arm(sigma)), expected, rtol=1e-12)
        state = pulled(agent, state, sigma, 0.0)
    # gamma^2 = R by recommendation (d = 1), Sigma = 1/4, ||a|| = 2: sbar^2 = max(9, 12), Sigma = 1/3;
    # then ||a|| = sqrt(3): sbar^2 = max(1, 6 sqrt(3)).
    agent = cls(alpha=0.5, delta=0.1, lam=0.25, tail=2.0)
    state = agent.start(KEY, ONE)
    for sigma, precision in zip(SIGMAS, (1 / 3, 1 / 3 + 1 / (R * math.sqrt(3))), strict=True):
        state = pulled(agent, state, sigma, 0.0)
        np.testing.assert_allclose(state.ridge.precision, precision, rtol=1e-12)


def test_the_spread_of_lints_follows_the_largest_sigma() -> None:
    agent = LinTS(delta=0.1)
    state = agent.start(KEY, ONE)
    normal = float(jax.random.normal(KEY, (1,))[0])
    for t, sigma in enumerate(SIGMAS, start=1):
        v = 3 * math.sqrt(9 * math.log(t / 0.1))
        score = v * normal / math.sqrt(t)  # V = t, th = 0
        np.testing.assert_allclose(agent.scores(KEY, state, one_arm(sigma)), score, rtol=1e-12)
        state = pulled(agent, state, sigma, 0.0)
