"""Intervals against closed forms and against SciPy's bootstrap; paired statistics against unpaired ones."""

import numpy as np
import pytest
from scipy import stats

from experiments.analysis.statistics import (
    LEVEL,
    RESAMPLES,
    Interval,
    bootstrap,
    known_median,
    mean_interval,
    paired_difference,
    paired_ratio,
    spearman,
    standard_error,
)

SHARED = np.random.default_rng(11).gamma(
    0.5, 20.0, size=60
)  # heavy-tailed, and shared by both cells of a pair
NOISE = np.random.default_rng(12).normal(size=60)


def test_the_interval_of_a_mean_is_that_of_scipys_percentile_bootstrap_at_95_percent():
    """Ends differ by the error of 10,000 resamples: five standard errors of a 2.5% quantile, below 1e-6 by chance.

    The standard error is sqrt(q (1 - q) / B) / density, with the normal density at its 2.5% quantile. The ends of an
    interval at 90% are 0.31 standard errors of the mean further in, 1.6 times the tolerance.
    """
    ours = mean_interval(SHARED)
    theirs = stats.bootstrap(
        (SHARED,), np.mean, n_resamples=RESAMPLES, confidence_level=0.95, method="percentile", rng=1
    ).confidence_interval
    spread = SHARED.std() / np.sqrt(SHARED.size)
    error = np.sqrt(0.025 * 0.975 / RESAMPLES) / stats.norm.pdf(stats.norm.ppf(0.025)) * spread
    tolerance = 5 * np.sqrt(2) * error
    assert tolerance < 0.31 * spread / 1.5
    np.testing.assert_allclose(ours[1:], theirs, atol=tolerance)


def test_the_interval_of_many_normal_values_is_the_closed_form_at_95_percent():
    """1.96 standard errors on either side; at 90% they would be 1.645, at 99% 2.576."""
    values = np.random.default_rng(3).normal(size=2000)
    interval = mean_interval(values)
    half = (interval.high - interval.low) / 2 / (values.std() / np.sqrt(values.size))
    assert half == pytest.approx(stats.norm.ppf(0.975), abs=0.1)
    assert LEVEL == 0.95


def test_intervals_of_ratios_and_rank_correlations_are_at_95_percent():
    rows = np.stack([SHARED + 5, SHARED + 10 + NOISE], axis=1)
    wide, narrow = (
        bootstrap(rows, lambda x: np.moveaxis(x.mean(-2), -1, 0)[0], level) for level in (0.95, 0.9)
    )
    assert wide.low < narrow.low < narrow.high < wide.high
    assert paired_ratio(rows[:, 0], rows[:, 1]) == paired_ratio(rows[:, 0], rows[:, 1], 0.95)
    assert paired_ratio(rows[:, 0], rows[:, 1]) != paired_ratio(rows[:, 0], rows[:, 1], 0.9)
    assert spearman(SHARED, NOISE) == spearman(SHARED, NOISE, level=0.95)
    assert spearman(SHARED, NOISE) != spearman(SHARED, NOISE, level=0.9)


def test_a_paired_difference_is_that_of_equal_runs():
    """Shared randomness cancels, so that the interval is that of the noise alone; that of other runs does not."""
    paired = paired_difference(SHARED + 3 + NOISE, SHARED)
    assert paired == pytest.approx(mean_interval(3 + NOISE), rel=1e-12)
    assert paired.high - paired.low < 4.5 * standard_error(NOISE)
    permuted = paired_difference(SHARED + 3 + NOISE, np.roll(SHARED, 1))
    assert permuted.value == pytest.approx(paired.value)
    assert permuted.high - permuted.low > 10 * (paired.high - paired.low)


def test_a_paired_ratio_is_that_of_equal_runs():
    paired, permuted = (paired_ratio(3 * SHARED, reference) for reference in (SHARED, np.roll(SHARED, 1)))
    assert paired == pytest.approx((3, 3, 3))
    assert permuted.high - permuted.low > 0.5


def test_a_single_run_has_an_estimate_and_no_interval():
    value, low, high = mean_interval(np.array([2.0]))
    assert value == 2.0
    assert np.isnan(low)
    assert np.isnan(high)
    assert np.isnan(standard_error(np.array([2.0])))


def test_intervals_are_formatted_one_way():
    interval = Interval(1.234, -0.5, 2.0)
    assert interval.format() == "+1.2 [-0.5, +2.0]"
    assert interval.format(".3g") == "1.23 [-0.5, 2]"
    assert interval.format(lambda value: f"<{value:g}>") == "<1.234> [<-0.5>, <2>]"
    assert interval.contains_zero
    assert not Interval(1.0, 0.5, 2.0).contains_zero


def test_a_median_skips_nan_and_keeps_infinity():
    assert known_median(np.array([[1.0, np.nan], [np.inf, np.inf]])) == np.inf
    assert known_median(np.array([3, 1, 2])) == 2
    assert np.isnan(known_median(np.array([np.nan])))
