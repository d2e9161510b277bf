"""Means, medians and paired differences, with intervals."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import stats

LEVEL = 0.95
RESAMPLES = 10_000


class Interval(NamedTuple):
    """An estimate and the ends of its confidence interval."""

    value: float
    low: float
    high: float

    @property
    def holds_zero(self) -> bool:
        """Whether zero is inside."""
        return self.low <= 0 <= self.high


def standard_error(values: np.ndarray) -> float:
    """Of the mean of independent values; NaN for a single one."""
    return float(np.std(values, ddof=1) / np.sqrt(values.size)) if values.size > 1 else float("nan")


def mean_interval(values: np.ndarray, level: float = LEVEL) -> Interval:
    """Bootstrap interval for a mean: percentiles of resampled means, which follow a heavy tail where there is one."""
    return bootstrap(values[:, None], lambda x: x[..., 0].mean(axis=-1), level)


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


def spearman(x: np.ndarray, y: np.ndarray, level: float = LEVEL) -> Interval:
    """Rank correlation, with a bootstrap interval over the pairs. An infinite value has a rank like any other."""
    keep = ~(np.isnan(x) | np.isnan(y))
    if keep.sum() < 4:
        return Interval(float("nan"), float("nan"), float("nan"))
    return bootstrap(np.stack([x[keep], y[keep]], axis=1), _rank_correlation, level, resamples=2000)


def _rank_correlation(pairs: np.ndarray) -> np.ndarray:
    ranks = stats.rankdata(pairs, axis=-2)
    ranks = ranks - ranks.mean(axis=-2, keepdims=True)
    scale = np.sqrt((ranks**2).sum(axis=-2))
    with np.errstate(invalid="ignore"):
        return (ranks[..., 0] * ranks[..., 1]).sum(axis=-1) / (scale[..., 0] * scale[..., 1])


def bootstrap(
    rows: np.ndarray,
    statistic: Callable[[np.ndarray], np.ndarray],
    level: float = LEVEL,
    resamples: int = RESAMPLES,
) -> Interval:
    """Percentile interval of a statistic of rows (the second to last axis); always from the same random numbers."""
    value = float(statistic(rows))
    if rows.shape[0] < 2:
        return Interval(value, float("nan"), float("nan"))
    picks = np.random.default_rng(0).integers(rows.shape[0], size=(resamples, rows.shape[0]))
    found = statistic(rows[picks])
    if not np.isfinite(found).any():
        return Interval(value, float("nan"), float("nan"))
    low, high = np.nanquantile(found, [(1 - level) / 2, (1 + level) / 2])
    return Interval(value, float(low), float(high))
