"""Exact draws from a tilted Gaussian: special cases, input that is not finite, and the posteriors that use them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.montecarlo import SEED, assert_mean, assert_same_frequencies, moments
from helpers.played_rounds import ROUNDS, history_after, played
from helpers.tilted_cases import (
    DIM,
    DRAWS,
    FACTORED,
    PRECISION,
    TiltedCase,
    arm_counts,
    assert_importance,
    cached_draws,
    correlated,
    draw_each,
    draw_together,
    draws,
    importance,
    normalised,
    weighted,
)
from scipy import stats

from fgtsva_ppl import FGTSA, FGTSB, Linear
from fgtsva_ppl.environments.linear import hypercube
from fgtsva_ppl.posteriors import posterior_target
from fgtsva_ppl.rewards import flat_model
from samplers import Gaussian
from samplers.reference import tilted_gaussian


def test_without_a_tilt_the_first_proposal_is_accepted_and_is_gaussian():
    case, positions, proposals = cached_draws("random", 0.0)
    assert np.all(proposals == 1)
    z = (positions - case.mean) @ np.linalg.cholesky(case.precision)
    expected = np.concatenate([np.zeros(DIM), np.eye(DIM)[np.triu_indices(DIM)]])
    assert_mean(moments(z), expected)


def test_a_single_arm_shifts_the_gaussian():
    case = correlated("random")
    case = case._replace(actions=case.actions[:1]).stretched(3.0)
    positions, proposals = draws(case)
    assert np.all(proposals == 1)
    shifted = case.mean + case.lam * np.linalg.solve(case.precision, case.actions[0])
    z = (positions - shifted) @ np.linalg.cholesky(case.precision)
    assert_mean(moments(z), np.concatenate([np.zeros(DIM), np.eye(DIM)[np.triu_indices(DIM)]]))


@pytest.mark.parametrize("pull", [0.6, 2.4])
def test_duplicated_arms_are_one_arm(pull):
    case = correlated("random")
    twice = case._replace(actions=case.actions[[0, 0, 1, 1, 2, 3, 3]]).stretched(pull)
    assert_importance(twice, draws(twice)[0], *importance(twice))


def test_all_arms_can_be_equal():
    case = FACTORED._replace(actions=np.tile(FACTORED.actions[3], (32, 1))).stretched(2.0)
    positions, proposals = draws(case)
    assert_mean(positions, case.mean + case.lam * case.actions[0] / PRECISION)
    envelopes = tilted_gaussian.envelopes(case.tilted)
    log_mass = case.lam * case.actions[0] @ case.mean + 2.0  # (lam s)^2 / 2
    assert_mean(proposals, np.exp(min(envelopes.mixture, envelopes.inflated) - log_mass))


@pytest.mark.parametrize("where", ["precision", "shift", "actions", "lam", "infinite", "indefinite"])
def test_non_finite_input_gives_nan_and_no_endless_loop(where):
    case = FACTORED.stretched(1.0)
    precision, shift = case.precision.copy(), case.precision @ case.mean
    actions, lam = case.actions.copy(), case.lam
    if where == "precision":
        precision[0, 0] = np.nan
    if where == "indefinite":
        precision[0, 0] = -1.0
    if where == "shift":
        shift[1] = np.nan
    if where == "actions":
        actions[4, 2] = np.nan
    if where == "lam":
        lam = np.nan
    if where == "infinite":
        lam = np.inf
    tilted = tilted_gaussian.tilt(
        Gaussian(*map(jnp.asarray, (precision, shift))), jnp.asarray(actions), jnp.asarray(lam)
    )
    positions, proposals = draw_each(tilted, jax.random.split(jax.random.key(0), DRAWS))
    assert np.all(np.isnan(positions))
    assert np.all(proposals == 0)
    assert np.all(np.isnan(draw_together(jax.random.key(0), tilted, DRAWS)))


def test_a_non_finite_run_does_not_affect_its_neighbours():
    good = FACTORED.stretched(1.0).tilted
    bad = good._replace(mean=jnp.full(DIM, jnp.nan), offset=jnp.full(32, jnp.nan))
    keys, side_by_side = jax.random.split(jax.random.key(3), 2), jax.jit(jax.vmap(tilted_gaussian.exact_draw))
    beside_good, beside = (
        side_by_side(keys, jax.tree.map(lambda *leaves: jnp.stack(leaves), good, other))
        for other in (good, bad)
    )
    np.testing.assert_array_equal(beside[0], beside_good[0])
    assert np.all(np.isnan(beside[1]))


def test_extreme_cases_stay_finite():
    """Round 10,000 of the sparse environment: eigenvalues from 5 to 2e8, lam near 1000."""
    precision = np.diag([5.0, 50.0, 1e4, 1e6, 2e8])
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(DIM, DIM)))[0]
    for lam in (1e-8, 0.3, 30.0, 1000.0):
        case = TiltedCase(rotation @ precision @ rotation.T, np.full(DIM, 0.4), hypercube(DIM), lam)
        positions, proposals = draws(case)
        assert np.all(np.isfinite(positions))
        assert np.mean(proposals) <= 32


def test_type_a_over_a_fixed_set_is_type_b_with_the_sum_of_its_lambdas():
    log, model = played("fixed"), flat_model(Linear(), 3)
    history = history_after(FGTSA(eta=0.3, lam=0.7), "fixed", Linear())
    a = posterior_target(FGTSA(eta=0.3, lam=0.7), model, history, log.next)
    b = posterior_target(FGTSB(eta=0.3, lam=0.7 * ROUNDS), model, history, log.next)
    keys = jax.random.split(jax.random.key(0), 20)
    ours, theirs = (jax.jit(jax.vmap(target.exact))(keys) for target in (a, b))
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    ours, theirs = (jax.vmap(target.logdensity)(ours) for target in (a, b))
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_exact_draws_of_a_posterior_have_its_log_density():
    """Precision, shift and lam as the posterior passes them on, against importance sampling of it."""
    posterior, log, model = FGTSB(eta=0.3, lam=4.0), played("fixed"), flat_model(Linear(), 3)
    history = history_after(posterior, "fixed", Linear())
    target = posterior_target(posterior, model, history, log.next)
    keys = jax.random.split(jax.random.key(SEED), DRAWS)
    positions = np.asarray(jax.jit(lambda keys: jax.lax.map(target.exact, keys, batch_size=500))(keys))
    rng = np.random.default_rng(SEED)
    centre, spread = positions.mean(0), 1.5 * np.cov(positions.T)
    proposals = stats.multivariate_t(centre, spread, df=8, seed=rng)
    draws = proposals.rvs(100_000)
    log_target = np.asarray(jax.jit(jax.vmap(target.logdensity))(draws))
    weights = np.exp(normalised(log_target - proposals.logpdf(draws)))
    assert 1 / np.sum(weights**2) > 20_000
    mean, error = weighted(moments(draws - centre), weights)
    assert_mean(moments(positions - centre), mean, error)
    resampled = draws[rng.choice(len(draws), 4000, p=weights)]
    assert_same_frequencies(arm_counts(positions, log.next.actions), arm_counts(resampled, log.next.actions))


def test_upper_bounds_in_float32_are_tight_and_never_below():
    rng = np.random.default_rng(5)
    for spread in (1.0, 1e-2, 1e-5):
        actions = rng.normal(size=(400, 40))
        root = rng.normal(size=(40, 40)) * np.geomspace(1, spread, 40)
        exact = np.sum((actions @ root) ** 2, axis=1)
        bounds = np.asarray(tilted_gaussian.whitened_squares(jnp.asarray(actions), jnp.asarray(root)))
        assert np.all(bounds >= exact)
        assert np.max(bounds / exact) < 1.001
    few = np.asarray(tilted_gaussian.whitened_squares(jnp.asarray(actions[:9]), jnp.asarray(root)))
    np.testing.assert_allclose(few, exact[:9], rtol=1e-12)


@pytest.mark.parametrize("pull", [0.6, 2.4])
def test_draws_are_exact_with_upper_bounds(pull):
    """Bounds that are 30% too large cost acceptance and nothing else, in either envelope."""
    case = correlated("random").stretched(pull)
    loose = case.tilted._replace(squares=case.tilted.squares * np.linspace(1.1, 1.5, len(case.actions)))
    keys = jax.random.split(jax.random.key(SEED), DRAWS)
    positions, proposals = map(np.asarray, draw_each(loose, keys))
    assert proposals.mean() > draws(case)[1].mean()
    assert_importance(case, positions, *importance(case))
