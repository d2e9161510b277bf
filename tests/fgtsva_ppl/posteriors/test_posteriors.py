"""The log-densities: against the formulas of the paper, against finite differences, and one path against the other."""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.played_rounds import ROUNDS, PlainLinear, history_after, played
from scipy import stats

from fgtsva_ppl import FGTSA, FGTSB, FGTSVA, TS, InputError, Linear
from fgtsva_ppl.posteriors import posterior_program, posterior_target
from fgtsva_ppl.posteriors.history import ReplayBuffer, SufficientStatistics, empty
from fgtsva_ppl.rewards import flat_model
from fgtsva_ppl.types import Round

ETA, LAM, C, ALPHA, SHARPNESS, CAP = 0.3, 0.7, 0.5, 0.3, 10.0, 0.35
FAMILY = {
    "ts": lambda **peak: TS(eta=ETA, **peak),
    "fgts_a": lambda **peak: FGTSA(eta=ETA, lam=LAM, **peak),
    "fgts_b": lambda **peak: FGTSB(eta=ETA, lam=LAM, **peak),
    "fgts_va": lambda **peak: FGTSVA(c=C, alpha=ALPHA, **peak),
}
PEAKS = {
    "hard": {"maximum": "hard"},
    "hard-capped": {"maximum": "hard", "cap": CAP},
    "logsumexp": {"maximum": "logsumexp", "sharpness": SHARPNESS},
    "logsumexp-capped": {"maximum": "logsumexp", "sharpness": SHARPNESS, "cap": CAP},
    "softplus": {"maximum": "softplus", "sharpness": SHARPNESS, "cap": CAP},
}
STEP = 1e-4  # of the finite differences
MARGIN = 0.01  # by which the points keep away from kinks: more than a step can change a reward


def reference_peak(values, maximum, sharpness=None, cap=None):
    """A round's maximum of the values of its arms, from its definition."""
    top = np.max(values)
    if maximum == "logsumexp":
        top = top + np.log(np.sum(np.exp(sharpness * (values - top)))) / sharpness
    if maximum == "softplus":
        return cap - np.logaddexp(0, sharpness * (cap - top)) / sharpness
    return top if cap is None else min(top, cap)


def reference(name, peak, log, theta):
    """The formulas of the posteriors in NumPy: sums over s < t in plain loops."""
    dim = theta.size
    value = np.sum(stats.norm(0, dim**-0.5).logpdf(theta))
    floored = np.maximum(log.sigma, ALPHA)
    for s in range(len(log.action)):
        eta = 1 / floored[s] ** 2 if name == "fgts_va" else ETA
        value -= eta * (log.reward[s] - log.actions[s][log.action[s]] @ theta) ** 2
    if name == "fgts_a":
        for actions in log.actions:
            value += LAM * reference_peak(actions @ theta, **peak)
    if name == "fgts_b":
        value += LAM * reference_peak(log.next.actions @ theta, **peak)
    if name == "fgts_va":
        now = max(float(log.next.sigma), ALPHA)
        total = np.sum(floored**2) + now**2
        value += C * np.sqrt(total) / now**2 * reference_peak(log.next.actions @ theta, **peak)
    return value


@lru_cache
def points(environment):
    """Positions at which no log-density has a kink within a step of the finite differences."""
    log = played(environment)
    sets = np.concatenate([log.actions, log.next.actions[None]])
    candidates = np.random.default_rng(3).normal(0, 0.6, (2000, sets.shape[-1]))
    values = np.sort(np.einsum("nd,tkd->ntk", candidates, sets), axis=-1)
    separated = np.min(values[..., -1] - values[..., -2], axis=1) > MARGIN
    logsums = np.log(np.sum(np.exp(SHARPNESS * values), axis=-1)) / SHARPNESS
    for top in (values[..., -1], logsums):
        separated &= np.min(np.abs(top - CAP), axis=1) > MARGIN
    capped = np.max(candidates @ log.next.actions.T, axis=1) > CAP
    chosen = np.concatenate([candidates[separated & side][:3] for side in (capped, ~capped)])
    assert len(chosen) == 6
    return chosen


@lru_cache
def evaluated(name, peak, environment, reward):
    """Target, and values and gradients at the points and at their neighbours on both sides of every axis."""
    posterior, log = FAMILY[name](**PEAKS[peak]), played(environment)
    dim = log.actions.shape[-1]
    history = history_after(
        FAMILY[name](), environment, reward
    )  # which does not depend on the kind of maximum
    target = posterior_target(posterior, flat_model(reward, dim), history, log.next)
    shifts = np.concatenate([np.zeros((1, dim)), STEP * np.eye(dim), -STEP * np.eye(dim)])
    where = points(environment)[:, None] + shifts
    value, gradient = jax.jit(jax.vmap(jax.vmap(jax.value_and_grad(target.logdensity))))(where)
    return posterior, history, target, np.asarray(value), np.asarray(gradient)


@pytest.fixture(
    scope="module",  # groups the tests of a case, which share compiled programs
    params=[
        (name, peak, environment)
        for name in FAMILY
        for peak in PEAKS
        for environment in ("fixed", "contextual")
    ],
    ids="-".join,
)
def case(request):
    return request.param


def test_the_log_density_is_the_papers(case):
    name, peak, environment = case
    _, _, _, value, _ = evaluated(name, peak, environment, Linear())
    expected = [reference(name, PEAKS[peak], played(environment), theta) for theta in points(environment)]
    np.testing.assert_allclose(value[:, 0], expected, rtol=1e-12)


def test_the_gradient_is_that_of_finite_differences(case):
    name, peak, environment = case
    _, _, _, value, gradient = evaluated(name, peak, environment, Linear())
    dim = gradient.shape[-1]
    differences = (value[:, 1 : 1 + dim] - value[:, 1 + dim :]) / (2 * STEP)
    np.testing.assert_allclose(gradient[:, 0], differences, rtol=1e-6, atol=1e-6)


def test_sums_and_rows_give_the_same_number(case):
    name, peak, environment = case
    _, sums, _, value, gradient = evaluated(name, peak, environment, Linear())
    _, rows, _, generic_value, generic_gradient = evaluated(name, peak, environment, PlainLinear())
    assert isinstance(sums.data, SufficientStatistics)
    assert isinstance(rows.data, ReplayBuffer)
    np.testing.assert_allclose(value, generic_value, rtol=1e-12)
    scale = np.max(np.abs(gradient))
    np.testing.assert_allclose(gradient, generic_gradient, rtol=1e-12, atol=1e-13 * scale)


@pytest.mark.parametrize("name", FAMILY)
def test_the_formula_of_the_gradient_is_the_derivative_of_the_program(name):
    """To second order, and where derivatives are taken forward too."""
    environment = "fixed"
    posterior, history, target, value, gradient = evaluated(name, "hard", environment, Linear())
    log, where = played(environment), jnp.asarray(points(environment))
    model = flat_model(Linear(), where.shape[-1])
    plain = model.logdensity(posterior_program(posterior, model, history, log.next))
    np.testing.assert_allclose(value[:, 0], jax.vmap(plain)(where), rtol=1e-13)
    np.testing.assert_allclose(gradient[:, 0], jax.vmap(jax.grad(plain))(where), rtol=1e-11, atol=1e-12)
    ours, theirs = (jax.hessian(function)(where[0]) for function in (target.logdensity, plain))
    np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-11)


def test_past_action_sets_are_kept_where_they_are_needed_only(case):
    name, peak, environment = case
    _, history, _, _, _ = evaluated(name, peak, environment, Linear())
    assert (history.past is not None) == (name == "fgts_a" and environment == "contextual")


def test_gaussian_part_and_bonus_make_up_the_log_density(case):
    name, peak, environment = case
    posterior, history, target, value, _ = evaluated(name, peak, environment, Linear())
    precision, shift = map(np.asarray, target.gaussian)
    log, dim = played(environment), points(environment).shape[-1]
    weights = 1 / np.maximum(log.sigma, ALPHA) ** 2 if name == "fgts_va" else np.full(ROUNDS, ETA)
    weighted = weights[:, None] * log.features
    # no 1/2 in the loss: a datum adds 2 eta to the precision
    np.testing.assert_allclose(precision, dim * np.eye(dim) + 2 * log.features.T @ weighted, rtol=1e-12)
    np.testing.assert_allclose(shift, 2 * weighted.T @ log.reward, rtol=1e-12)
    model = flat_model(Linear(), dim)
    quadratic = [-x @ precision @ x / 2 + shift @ x for x in points(environment)]
    bonus = [
        float(posterior.bonus(model.function(jnp.asarray(x)), history, log.next)) for x in points(environment)
    ]
    rest = value[:, 0] - np.add(quadratic, bonus)
    np.testing.assert_allclose(rest, rest[0], rtol=1e-11)


def test_exact_draws_exist_only_for_supported_posteriors(case):
    name, peak, environment = case
    _, history, target, _, _ = evaluated(name, peak, environment, Linear())
    _, _, generic, _, _ = evaluated(name, peak, environment, PlainLinear())
    assert (target.exact is not None) == (peak == "hard" and history.past is None)
    assert generic.exact is None
    # rows have no closed form: the factor that is Gaussian for sure is the prior
    np.testing.assert_allclose(generic.gaussian.precision, 3 * np.eye(3), rtol=1e-12)
    np.testing.assert_allclose(generic.gaussian.shift, 0, atol=1e-12)


def test_the_curvature_of_the_generic_path_is_that_of_the_fast_one(case):
    name, peak, environment = case
    _, _, target, _, _ = evaluated(name, peak, environment, Linear())
    _, _, generic, _, _ = evaluated(name, peak, environment, PlainLinear())
    position = jnp.asarray(points(environment)[0])
    np.testing.assert_allclose(generic.precision(position), target.precision(position), rtol=1e-10)


def test_the_current_round_is_in_the_total_variance_and_not_in_the_data():
    posterior, log = FGTSVA(c=C, alpha=ALPHA), played("fixed")
    history = history_after(posterior, "fixed", Linear())
    own = np.maximum(log.sigma, ALPHA) ** 2
    np.testing.assert_allclose(history.total_variance, np.sum(own))
    assert history.rounds == ROUNDS
    for sigma in (0.0, 0.1, ALPHA, 2.0):
        now = max(sigma, ALPHA) ** 2
        expected = C * np.sqrt(np.sum(own) + now) / now
        np.testing.assert_allclose(
            posterior.bonus_scale(history.total_variance, jnp.asarray(sigma)), expected
        )


def test_first_round_has_prior_and_bonus_only():
    log, model = played("fixed"), flat_model(Linear(), 3)
    history = empty(linear=True, keep_actions=False, arms=8, dim=3, capacity=1)
    theta = points("fixed")[0]
    prior = np.sum(stats.norm(0, 3**-0.5).logpdf(theta))
    top = np.max(log.next.actions @ theta)
    now = max(float(log.next.sigma), ALPHA)
    for name, bonus in {"ts": 0, "fgts_a": 0, "fgts_b": LAM * top, "fgts_va": C / now * top}.items():
        value = posterior_target(FAMILY[name](), model, history, log.next).logdensity(jnp.asarray(theta))
        np.testing.assert_allclose(value, prior + bonus, rtol=1e-12)


def test_half_the_bayes_temperature():
    """With eta = 1/(2 sigma^2) the posterior is Bayes'; with the paper's 1/sigma^2 it is that one, twice as sharp."""
    environment, sigma = "fixed", 0.5
    log = played(environment)
    for eta, factor in [(1 / (2 * sigma**2), 1), (1 / sigma**2, 2)]:
        history = history_after(TS(eta=eta), environment, Linear())
        target = posterior_target(TS(eta=eta), flat_model(Linear(), 3), history, log.next)
        bayes = 3 * np.eye(3) + factor * log.features.T @ log.features / sigma**2
        np.testing.assert_allclose(target.gaussian.precision, bayes, rtol=1e-12)


VALUES = np.random.default_rng(5).normal(size=(50, 6))


@pytest.mark.parametrize("peak", PEAKS)
def test_the_maxima_are_taken_over_the_last_axis(peak):
    expected = [reference_peak(row, **PEAKS[peak]) for row in VALUES]
    np.testing.assert_allclose(TS(**PEAKS[peak]).maximum_over_arms(jnp.asarray(VALUES)), expected, rtol=1e-12)


@pytest.mark.parametrize("sharpness", [0.1, 1.0, 10.0, 1e3, 1e6])
def test_smoothed_maxima_tend_to_the_hard_one(sharpness):
    # log-sum-exp is above by log(K)/s at most, the softplus cap below by log(2)/s at most
    above = TS(maximum="logsumexp", sharpness=sharpness).maximum_over_arms(jnp.asarray(VALUES)) - np.max(
        VALUES, axis=1
    )
    capped = TS(maximum="hard", cap=CAP).maximum_over_arms(jnp.asarray(VALUES))
    below = capped - TS(maximum="softplus", cap=CAP, sharpness=sharpness).maximum_over_arms(
        jnp.asarray(VALUES)
    )
    for gap, most in [(above, np.log(6) / sharpness), (below, np.log(2) / sharpness)]:
        assert np.all(gap >= -1e-14)
        assert np.all(gap <= most * (1 + 1e-9) + 1e-14)


def test_the_smoothed_log_density_tends_to_the_hard_one():
    environment = "contextual"
    _, _, _, hard, hard_gradient = evaluated("fgts_a", "hard", environment, Linear())
    posterior = FGTSA(eta=ETA, lam=LAM, maximum="logsumexp", sharpness=1e4)
    history = history_after(posterior, environment, Linear())
    target = posterior_target(posterior, flat_model(Linear(), 3), history, played(environment).next)
    value, gradient = jax.jit(jax.vmap(jax.value_and_grad(target.logdensity)))(points(environment))
    np.testing.assert_allclose(value, hard[:, 0], atol=LAM * ROUNDS * np.log(4) / 1e4)
    np.testing.assert_allclose(gradient, hard_gradient[:, 0], atol=1e-9)  # the arms' values differ by MARGIN


def test_bonus_has_no_gradient_above_the_cap():
    model, log = flat_model(Linear(), 3), played("fixed")
    history = empty(linear=True, keep_actions=False, arms=8, dim=3, capacity=1)
    posterior = FGTSB(lam=5.0, cap=CAP)

    def bonus(theta):
        return posterior.bonus(model.function(theta), history, log.next)

    above, below = jnp.asarray([2.0, 1.0, 0.5]), jnp.asarray([0.02, 0.01, 0.005])
    assert bonus(above) == pytest.approx(5.0 * CAP)
    assert np.all(jax.grad(bonus)(above) == 0)
    np.testing.assert_allclose(jax.grad(bonus)(below), 5.0 / np.sqrt(3), rtol=1e-12)


def test_softplus_without_a_cap_is_rejected():
    with pytest.raises(InputError, match="maximum=softplus smooths the cap and needs one: set cap"):
        FGTSB(lam=1.0, maximum="softplus").maximum_over_arms(jnp.zeros(3))


def test_the_action_sets_of_a_round_may_change_under_one_program():
    posterior, model = FAMILY["fgts_b"](), flat_model(Linear(), 3)
    history = empty(linear=True, keep_actions=False, arms=2, dim=3, capacity=1)

    @jax.jit
    def value(actions, theta):
        return posterior.bonus(model.function(theta), history, Round(actions, jnp.asarray(1.0)))

    theta = jnp.asarray([1.0, 2.0, 3.0])
    assert value(jnp.eye(3)[:2], theta) == pytest.approx(2 * LAM)
    assert value(jnp.eye(3)[1:], theta) == pytest.approx(3 * LAM)
    assert value._cache_size() == 1
