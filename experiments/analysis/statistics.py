"""Means, medians and paired differences, with intervals."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

LEVEL = 0.95
RESAMPLES = 10_000
LEAST_UNITS = 4  # for a rank correlation


class Interval(NamedTuple):
    """An estimate and the ends of its confidence interval."""

    value: float
    low: float
    high: float

    @property
    def holds_zero(self) -> bool:
        """Whether zero is inside."""
        return self.low <= 0 <= self.high

    def told(self, digits: int = 1) -> str:
        """In words: the estimate, and the ends in brackets."""
        return f"{self.value:+.{digits}f} [{self.low:+.{digits}f}, {self.high:+.{digits}f}]"


def standard_error(values: np.ndarray) -> float:
    """Of the mean of independent values; NaN for a single one."""
    return float(np.std(values, ddof=1) / np.sqrt(values.size)) if values.size > 1 else float("nan")


def mean_interval(values: np.ndarray, level: float = LEVEL) -> Interval:
    """Bootstrap interval for a mean: percentiles of resampled means, which follow a heavy tail where there is one."""
    return bootstrap(values[:, None], lambda x: x[..., 0].mean(axis=-1), level)


def mean_and_median(values: np.ndarray) -> str:
    """In words: the mean with its interval and, as tails may be heavy, the median."""
    return f"{mean_interval(values).told()}, median {np.median(values):+.1f}"


def paired_difference(values: np.ndarray, reference: np.ndarray, level: float = LEVEL) -> Interval:
    """Mean difference of values that met the same random numbers."""
    return mean_interval(values - reference, level)


def paired_ratio(values: np.ndarray, reference: np.ndarray, level: float = LEVEL) -> Interval:
    """Ratio of the means of values that met the same random numbers."""
    return bootstrap(np.stack([values, reference], axis=1), _ratio, level)


def _ratio(pairs: np.ndarray) -> np.ndarray:
    top, bottom = np.moveaxis(pairs.mean(axis=-2), -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(top / bottom)


def spearman(
    x: np.ndarray, y: np.ndarray, strata: Sequence[object] | None = None, level: float = LEVEL
) -> Interval:
    """Rank correlation of (units,) values; of (units, columns) ones the average over strata of the columns.

    The interval resamples whole units, whose columns belong together, with the ranks that they have among all. An
    infinite value has a rank like any other, a NaN has none.
    """
    x, y = (values.reshape(len(values), -1).astype(float) for values in (x, y))
    labels = (
        np.zeros(x.shape[1], int) if strata is None else np.unique(np.asarray(strata), return_inverse=True)[1]
    )
    there = ~(np.isnan(x) | np.isnan(y))
    if there.any(axis=1).sum() < LEAST_UNITS:
        return Interval(float("nan"), float("nan"), float("nan"))
    x, y, kept = (table[there.any(axis=1)] for table in (x, y, there))
    sums = np.stack([_sums(x, y, kept, labels == label) for label in range(labels.max() + 1)], axis=1)
    units = len(sums)
    # how often each unit is picked is all that sums depend on
    times = np.random.default_rng(0).multinomial(units, np.full(units, 1 / units), size=2000)
    resampled = (times @ sums.reshape(units, -1)).reshape(-1, *sums.shape[1:])
    return _percentiles(float(_rank_correlation(sums.sum(axis=0))), _rank_correlation(resampled), level)


def _sums(x: np.ndarray, y: np.ndarray, kept: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """What each unit adds to the sums of a stratum's ranks, their squares and their products."""
    kept = kept & chosen
    a, b = np.zeros(x.shape), np.zeros(x.shape)
    for ranks, values in ((a, x), (b, y)):
        ranks[kept] = stats.rankdata(values[kept]) - (kept.sum() + 1) / 2
    return np.stack([kept, a, b, a * a, b * b, a * b], axis=-1).sum(axis=1)


def _rank_correlation(sums: np.ndarray) -> np.ndarray:
    """From the sums of all units, (..., strata, 6)."""
    n, a, b, aa, bb, ab = np.moveaxis(sums, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = (aa - a * a / n) * (bb - b * b / n)
        found = (ab - a * b / n) / np.sqrt(np.where(inside > 1e-9 * aa * bb, inside, np.nan))
        known = np.isfinite(found)
        whole = np.where(known, n * found, 0).sum(axis=-1) / np.where(known, n, 0).sum(axis=-1)
        return np.round(whole, 12)  # ranks that cancel leave 1e-17


def bootstrap(
    rows: np.ndarray,
    statistic: Callable[[np.ndarray], np.ndarray],
    level: float = LEVEL,
    resamples: int = RESAMPLES,
) -> Interval:
    """Percentile interval of a statistic of rows, always from the same random numbers.

    The statistic takes the rows, or with an axis before them many resamples of them.
    """
    value = float(statistic(rows))
    if rows.shape[0] < 2:
        return Interval(value, float("nan"), float("nan"))
    picks = np.random.default_rng(0).integers(rows.shape[0], size=(resamples, rows.shape[0]))
    return _percentiles(value, statistic(rows[picks]), level)


def _percentiles(value: float, found: np.ndarray, level: float) -> Interval:
    if not np.isfinite(found).any():
        return Interval(value, float("nan"), float("nan"))
    low, high = np.nanquantile(found, [(1 - level) / 2, (1 + level) / 2])
    return Interval(value, float(low), float(high))
