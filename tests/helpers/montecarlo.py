"""Statistical assertions. Each raises a false alarm with probability ALARM at most.

All of them need independent replicas: one value per chain, not many values of one chain. Then the central limit
theorem gives the error, and no autocorrelation has to be estimated.

To judge the tests themselves: with FGTSVA_TEST_SEED they use other keys, and with FGTSVA_TEST_ALARM=0.01 about one
assertion in a hundred must fail, if the standard errors are right.
"""

import os

import numpy as np
from scipy import stats

SEED = int(os.environ.get("FGTSVA_TEST_SEED", "1"))
ALARM = float(os.environ.get("FGTSVA_TEST_ALARM", "1e-6"))


def z_bound(comparisons: int, alarm: float = ALARM) -> float:
    """The largest |z| among so many comparisons exceeds this with probability `alarm` at most (Bonferroni)."""
    return float(stats.norm.isf(alarm / (2 * comparisons)))


def standard_error(samples: np.ndarray) -> np.ndarray:
    """Of the mean over the leading axis."""
    return np.std(samples, axis=0, ddof=1) / np.sqrt(len(samples))


def z_scores(samples: np.ndarray, expected: np.ndarray, error: np.ndarray | float = 0.0) -> np.ndarray:
    """How many standard errors the mean is off; `error` is that of the expectation. Zero over zero is zero."""
    gap = np.mean(samples, axis=0) - expected
    total = np.sqrt(standard_error(samples) ** 2 + np.asarray(error) ** 2)
    return np.where(np.abs(gap) < 1e-12, 0.0, gap / np.maximum(total, 1e-300))


def assert_mean(samples: np.ndarray, expected: np.ndarray | float, error: np.ndarray | float = 0.0) -> None:
    """Every component of the mean agrees with what was expected."""
    z = z_scores(np.asarray(samples), np.asarray(expected), error)
    assert np.all(np.isfinite(z))
    assert np.max(np.abs(z)) <= z_bound(z.size), f"largest |z| is {np.max(np.abs(z)):.1f} of {z.size}"


def moments(positions: np.ndarray) -> np.ndarray:
    """Coordinates and their products, (n, d + d(d+1)/2): means of these are the first two moments."""
    rows, columns = np.triu_indices(positions.shape[-1])
    return np.concatenate([positions, positions[:, rows] * positions[:, columns]], axis=1)


def assert_same_moments(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Two samples of positions have the same first and second moments."""
    # Centred and scaled by the reference first: products about a far-off mean would hide an error in the spread.
    centre, scale = theirs.mean(0), theirs.std(0)
    ours, theirs = (moments((x - centre) / scale) for x in (ours, theirs))
    assert_mean(ours, theirs.mean(0), standard_error(theirs))


def assert_frequencies(counts: np.ndarray, probabilities: np.ndarray) -> None:
    """Counts of independent draws agree with known probabilities (chi-squared; rare cells are pooled)."""
    expected = np.asarray(probabilities) * np.sum(counts)
    counts, expected = _pooled(np.stack([counts, expected]), by=expected, least=10)
    statistic = np.sum((counts - expected) ** 2 / expected)
    p = stats.chi2.sf(statistic, counts.size - 1) if counts.size > 1 else 1.0
    assert p >= ALARM, f"p = {p:.1e}"


def assert_same_frequencies(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Two vectors of counts come from the same distribution (chi-squared for homogeneity; rare cells are pooled)."""
    table = _pooled(np.stack([ours, theirs]).astype(float), by=np.add(ours, theirs), least=40)
    p = stats.chi2_contingency(table, correction=False).pvalue if table.shape[1] > 1 else 1.0
    assert p >= ALARM, f"p = {p:.1e}"


def _pooled(table: np.ndarray, by: np.ndarray, least: float) -> np.ndarray:
    """The rarest columns added up until they weigh enough for the chi-squared approximation."""
    table = table[:, np.argsort(by)]
    few = 1 + int(np.searchsorted(np.cumsum(np.sort(by)), least))
    return np.concatenate([table[:, :few].sum(1, keepdims=True), table[:, few:]], axis=1)


def assert_distribution(samples: np.ndarray, cdf) -> None:
    """Kolmogorov-Smirnov against a continuous distribution function."""
    p = stats.kstest(np.asarray(samples), cdf).pvalue
    assert p >= ALARM, f"p = {p:.1e}"


def assert_uncorrelated(first: np.ndarray, second: np.ndarray) -> None:
    """The products of the standardised values average to zero."""
    a, b = ((x - x.mean(0)) / x.std(0) for x in (np.asarray(first), np.asarray(second)))
    assert_mean(a * b, np.zeros(np.broadcast_shapes(a.shape, b.shape)[1:]))
