"""Accuracy metrics against closed forms."""

import numpy as np
import pytest
from scipy import stats

from fgtsva_ppl.diagnostics.accuracy import (
    action_probabilities,
    moment_errors,
    principal_coordinates,
    projection_directions,
    sliced_wasserstein,
    total_variation,
    total_variation_floor,
)
from samplers.diagnostics import nested_rhat

FALSE_ALARM = 1e-5  # of each comparison below, two-sided
Z = stats.norm.ppf(1 - FALSE_ALARM / 2)


def test_total_variation_of_contaminated_draws_is_the_contamination_times_its_own_distance():
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(8)), rng.dirichlet(np.ones(8))
    contamination, n = 0.3, 200_000
    mixed = np.where(rng.uniform(size=n) < contamination, rng.choice(8, n, p=q), rng.choice(8, n, p=p))
    distance = total_variation(action_probabilities(mixed, 8), p)
    assert abs(distance - contamination * total_variation(p, q)) < Z * np.sqrt(8 / (4 * n))


def test_total_variation_of_equal_distributions_is_its_floor_on_average():
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(16))
    n, m, repeats = 500, 2000, 400
    distances = [
        total_variation(rng.multinomial(n, p) / n, rng.multinomial(m, p) / m) for _ in range(repeats)
    ]
    error = np.std(distances, ddof=1) / np.sqrt(repeats)
    # the floor is a normal approximation: a hundredth of it is allowed for that
    floor = total_variation_floor(p, n, m)
    assert abs(np.mean(distances) - floor) < Z * error + 0.01 * floor


def test_sliced_wasserstein_of_a_shift_and_of_a_scaling_are_the_known_ones():
    rng = np.random.default_rng(2)
    reference, draws = rng.normal(size=(200_000, 3)), rng.normal(size=(50_000, 3))
    # along u a shift moves everything by <u, shift>
    known = 2 * np.abs(projection_directions(3)[:, 0]).mean()
    assert sliced_wasserstein(draws + np.array([2.0, 0, 0]), reference) == pytest.approx(known, rel=0.02)
    # N(0, k^2) is (k - 1) E|x| from N(0, 1), in every direction
    assert sliced_wasserstein(3 * draws, reference) == pytest.approx(2 * np.sqrt(2 / np.pi), rel=0.02)
    assert sliced_wasserstein(draws, reference) < 0.02


def test_moment_errors_do_not_depend_on_the_scale_or_the_correlation_of_the_posterior():
    rng = np.random.default_rng(3)
    reference, draws = rng.normal(size=(4000, 4)), 1.3 * rng.normal(size=(1000, 4)) + 0.2
    stretch = rng.normal(size=(4, 4)) @ np.diag([1e-3, 1, 10, 1e3])
    for error, stretched in zip(
        (*moment_errors(draws, reference),),
        (*moment_errors(draws @ stretch, reference @ stretch),),
        strict=True,
    ):
        assert error == pytest.approx(stretched, rel=1e-6)


@pytest.mark.parametrize("memory", [0.0, 0.3, 0.9])
def test_nested_rhat_at_one_draw_per_chain_matches_its_closed_form(memory):
    """x = memory * start + sqrt(1 - memory^2) z: B = 4 memory^2 + W/M for starts with variance 4, W = 1 - memory^2."""
    superchains, chains, repeats = 16, 32, 200
    rng = np.random.default_rng(4)
    ratio = []
    for _ in range(repeats):
        starts = 2 * rng.normal(size=(superchains, 1, 1))
        x = memory * starts + np.sqrt(1 - memory**2) * rng.normal(size=(superchains, chains, 1))
        ratio.append(nested_rhat(x[:, :, None]) ** 2 - 1)
    within = 1 - memory**2
    known = (4 * memory**2 + within / chains) / within
    error = np.std(ratio, ddof=1) / np.sqrt(repeats)
    bias = known * 2 / (superchains * chains)  # of a ratio whose denominator is a sample variance
    assert abs(np.mean(ratio) - known) < Z * error + bias


def test_nested_rhat_agrees_with_its_definition_at_several_draws_per_chain():
    x = np.random.default_rng(5).normal(size=(4, 3, 7, 2))
    b = x.mean(axis=(1, 2)).var(axis=0, ddof=1)
    w = np.mean(
        [x[k].mean(axis=1).var(axis=0, ddof=1) + x[k].var(axis=1, ddof=1).mean(axis=0) for k in range(4)],
        axis=0,
    )
    assert nested_rhat(x) == pytest.approx(np.sqrt(1 + b / w).max())


def test_accuracy_of_several_runs_at_once_equals_that_of_each_run():
    rng = np.random.default_rng(11)
    draws, reference = rng.normal(size=(3, 200, 2)), rng.normal(size=(3, 400, 2))
    for metric in (moment_errors, sliced_wasserstein):
        alone = np.stack([metric(d, r) for d, r in zip(draws, reference, strict=True)], axis=-1)
        np.testing.assert_allclose(metric(draws, reference), alone, rtol=1e-12)


def test_mean_rewards_of_more_arms_than_parameters_have_the_errors_of_the_parameters():
    """Rewards that are linear in two parameters: their principal directions span the same plane."""
    rng = np.random.default_rng(5)
    reference, draws = rng.normal(size=(2, 500, 2)), 1.5 * rng.normal(size=(2, 80, 2)) + 0.4
    features = rng.normal(size=(2, 2, 6))
    moved, reduced = principal_coordinates(reference @ features, draws @ features)
    assert reduced.shape[-1] == 2
    for ours, expected in zip(moment_errors(moved, reduced), moment_errors(draws, reference), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-8)
