"""Exact draws from a tilted Gaussian: against closed forms where it factorises, else against importance sampling.

Statistical tests: false alarms at 1e-6 each.
"""

import jax
import numpy as np
import pytest
from helpers.montecarlo import SEED, assert_frequencies, assert_mean, moments
from helpers.played_rounds import rest_is_slow
from helpers.tilted_cases import (
    DIM,
    DRAWS,
    FACTORED,
    PULLS,
    arm_counts,
    assert_importance,
    cached_draws,
    correlated,
    draw_each,
    draw_together,
    importance,
)
from scipy import stats
from scipy.special import logsumexp

from samplers.reference import tilted_gaussian


def coordinates(case):
    """Of a factored case, by quadrature: log-mass relative to the Gaussian part, moments, P(theta_i > 0)."""
    rows = []
    for precision, mean in zip(np.diag(case.precision), case.mean, strict=True):
        slope, deviation = case.lam / np.sqrt(DIM), precision**-0.5
        reach = 12 * deviation + slope / precision
        theta = np.linspace(-reach, reach, 100_001) + mean
        log_density = stats.norm(mean, deviation).logpdf(theta) + slope * np.abs(theta)
        weights = np.exp(log_density - log_density.max())
        step = theta[1] - theta[0]
        total = weights.sum()
        log_mass = np.log(total * step) + log_density.max()
        sides = weights[theta > 0].sum() / total
        rows.append((log_mass, weights @ theta / total, weights @ theta**2 / total, sides))
    return np.array(rows).T


@pytest.mark.parametrize("pull", PULLS)
def test_moments_are_those_of_quadrature(pull):
    case, positions, _ = cached_draws("factored", pull)
    _, mean, square, _ = coordinates(case)
    cross = np.triu_indices(DIM)
    products = np.where(cross[0] == cross[1], square[cross[0]], mean[cross[0]] * mean[cross[1]])
    assert_mean(moments(positions), np.concatenate([mean, products]))


@pytest.mark.parametrize("pull", PULLS)
def test_arm_probabilities_are_those_of_quadrature(pull):
    case, positions, _ = cached_draws("factored", pull)
    *_, up = coordinates(case)
    probabilities = np.prod(np.where(case.actions > 0, up, 1 - up), axis=1)
    assert_frequencies(arm_counts(positions, case.actions), probabilities)


@pytest.mark.parametrize("pull", PULLS)
def test_draws_together_have_the_same_distribution_and_are_independent(pull):
    case = FACTORED.stretched(pull)
    positions = np.asarray(draw_together(jax.random.key(SEED + 4), case.tilted, DRAWS))
    _, mean, square, up = coordinates(case)
    assert_mean(np.concatenate([positions, positions**2], axis=1), np.concatenate([mean, square]))
    probabilities = np.prod(np.where(case.actions > 0, up, 1 - up), axis=1)
    assert_frequencies(arm_counts(positions, case.actions), probabilities)
    for gap in (1, DRAWS // 2):  # a neighbour, and one of another block of proposals
        assert_mean((positions[:-gap] - mean) * (positions[gap:] - mean), np.zeros(DIM))


@pytest.mark.parametrize("pull", PULLS)
def test_the_acceptance_is_target_mass_over_envelope_mass(pull):
    case, _, proposals = cached_draws("factored", pull)
    log_mass = coordinates(case)[0].sum()
    envelopes = tilted_gaussian.envelopes(case.tilted)
    better = np.exp(log_mass - min(envelopes.mixture, envelopes.inflated))
    assert_mean(proposals, 1 / better, error=1e-6)  # that of quadrature
    # what is promised before anything is drawn, in terms of Z >= exp(lam max <a, m>) and Z >= the largest component
    weights = np.asarray(envelopes.log_weights)
    assert better >= np.exp(weights.max() - logsumexp(weights)) * (1 - 1e-6)
    assert better >= 1 / len(case.actions)
    assert better >= np.exp(case.lam * np.max(case.actions @ case.mean) - envelopes.inflated) * (1 - 1e-6)


def test_a_weak_tilt_is_drawn_from_the_inflated_gaussian_and_a_strong_one_from_the_mixture():
    for case in (FACTORED, correlated("hypercube")):
        masses = [tilted_gaussian.envelopes(case.stretched(pull).tilted) for pull in PULLS]
        assert [bool(e.mixture < e.inflated) for e in masses] == [False, False, False, True, True]


def test_the_inflation_is_the_best_one():
    for pull in PULLS[1:]:
        case = FACTORED.stretched(pull)
        e = np.exp(np.linspace(-12, 8, 200_001))
        masses = pull**2 * (1 + e) / (2 * e) + DIM / 2 * np.log1p(e)
        envelopes = tilted_gaussian.envelopes(case.tilted)
        best = case.lam * np.max(case.actions @ case.mean) + masses.min()
        np.testing.assert_allclose(envelopes.inflated, best, rtol=1e-7)
        np.testing.assert_allclose(envelopes.inflation, e[masses.argmin()], rtol=1e-3)


@pytest.mark.parametrize("pull", PULLS)
@pytest.mark.parametrize("arms", ["hypercube", "random"])
def test_draws_agree_with_importance_sampling(arms, pull):
    case, positions, _ = cached_draws(arms, pull)
    assert_importance(case, positions, *importance(case))


@pytest.mark.parametrize("pull", rest_is_slow([0.06, 0.6, 2.4], [0.6]))
@pytest.mark.parametrize("forced", ["mixture", "inflated"])
def test_each_envelope_alone_gives_the_distribution(forced, pull, monkeypatch):
    choose = tilted_gaussian.envelopes

    def always(case):
        envelopes = choose(case)
        return envelopes._replace(mixture=envelopes.inflated + (-1 if forced == "mixture" else 1))

    monkeypatch.setattr(tilted_gaussian, "envelopes", always)
    case = FACTORED.stretched(pull)
    keys = jax.random.split(jax.random.key(SEED + 1), DRAWS)
    program = jax.jit(lambda tilted, keys: draw_each.__wrapped__(tilted, keys))
    positions, proposals = map(np.asarray, program(case.tilted, keys))
    log_mass, mean, square, up = coordinates(case)
    assert_mean(positions, mean)
    assert_mean(positions**2, square)
    probabilities = np.prod(np.where(case.actions > 0, up, 1 - up), axis=1)
    assert_frequencies(arm_counts(positions, case.actions), probabilities)
    mass = getattr(choose(case.tilted), forced)
    assert_mean(proposals, np.exp(mass - log_mass.sum()))


def test_no_two_draws_are_the_same_where_several_blocks_are_needed():
    """Each block of proposals has a key of its own; with one key for all, a later block would repeat the first."""
    case = correlated("hypercube").stretched(1.2)
    number = 4 * tilted_gaussian.BLOCK
    draw = jax.jit(tilted_gaussian.exact_draws, static_argnums=2)
    draws = np.asarray(draw(jax.random.key(SEED), case.tilted, number))
    assert len(np.unique(draws, axis=0)) == number
    _, _, proposals = cached_draws("hypercube", 0.6)
    assert np.mean(proposals) > 1.5  # one block of as many proposals as draws would not do
