"""Means, medians, paired differences and rank correlations, with bootstrap confidence intervals."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Num
from scipy import stats

LEVEL = 0.95  # coverage of every interval that a study reports
RESAMPLES = 10_000
RANK_RESAMPLES = 2_000
MIN_UNITS = 4  # fewer units have no rank correlation

type Statistic = Callable[[Float[np.ndarray, "*batch rows columns"]], Float[np.ndarray, "*batch"]]


class Interval(NamedTuple):
    """An estimate with the ends of its confidence interval."""

    value: float
    low: float
    high: float

    @property
    def contains_zero(self) -> bool:
        """Whether the interval contains zero."""
        return self.low <= 0 <= self.high

    def format(self, number: str | Callable[[float], str] = "+.1f") -> str:
        """The estimate, and the ends in brackets.

        Args:
            number: format specification of a number, or a function that formats one; "auto" for a sign and as many
                decimals as the interval's width deserves.
        """
        if number == "auto":
            number = f"+.{self.decimals}f"
        show = (lambda value: format(value, number)) if isinstance(number, str) else number
        text = (
            f"{show(self.value)} [{show(self.low)}, {show(self.high)}]"
            if self.low == self.low
            else show(self.value)
        )
        return text.replace("nan", "–")

    @property
    def decimals(self) -> int:
        """Decimals with which half the interval's width has two significant digits; of the value without one."""
        width = (self.high - self.low) / 2
        scale = width if math.isfinite(width) and width > 0 else abs(self.value)
        return min(max(0, 1 - math.floor(math.log10(scale))), 6) if scale > 0 and math.isfinite(scale) else 1


def standard_error(values: Num[np.ndarray, " runs"]) -> float:
    """Standard error of the mean of independent values; NaN for a single one."""
    return float(np.std(values, ddof=1) / np.sqrt(values.size)) if values.size > 1 else float("nan")


def known_median(values: Num[np.ndarray, "..."]) -> float:
    """Median of the values that are not NaN, infinite ones included; NaN if there are none."""
    known = values[~np.isnan(values)]
    return float(np.median(known)) if known.size else float("nan")


def mean_interval(values: Num[np.ndarray, " runs"], level: float = LEVEL) -> Interval:
    """Percentile bootstrap interval of a mean, which follows a heavy tail where there is one."""
    return bootstrap(values[:, None], lambda x: x[..., 0].mean(axis=-1), level)


def format_mean_and_median(values: Num[np.ndarray, " runs"]) -> str:
    """The mean with its interval and, as tails may be heavy, the median."""
    return f"{mean_interval(values).format()}, median {np.median(values):+.1f}"


def paired_difference(
    values: Num[np.ndarray, " runs"], reference: Num[np.ndarray, " runs"], level: float = LEVEL
) -> Interval:
    """Mean difference between two cells, run by run: run i of both used the same random numbers.

    Args:
        values: a number for each run.
        reference: the same for the runs of the reference, in the same order.
        level: coverage of the interval.
    """
    return mean_interval(values - reference, level)


def paired_ratio(
    values: Num[np.ndarray, " runs"], reference: Num[np.ndarray, " runs"], level: float = LEVEL
) -> Interval:
    """Ratio of the means of two cells; the bootstrap resamples runs, with both values of a run together."""
    return bootstrap(np.stack([values, reference], axis=1), _ratio, level)


def _ratio(pairs: Float[np.ndarray, "*batch runs 2"]) -> Float[np.ndarray, "*batch"]:
    top, bottom = np.moveaxis(pairs.mean(axis=-2), -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(top / bottom)


def spearman(
    x: Num[np.ndarray, " units *columns"],
    y: Num[np.ndarray, " units *columns"],
    strata: Sequence[object] | None = None,
    level: float = LEVEL,
) -> Interval:
    """Spearman's rank correlation, averaged over strata of columns, with a bootstrap interval over units.

    Ranks are taken within a stratum. The bootstrap resamples whole units, because the columns of a unit are dependent,
    and keeps the ranks of the original sample. An infinite value has a rank like any other, a NaN has none.

    Args:
        x: one value per unit, or several.
        y: the same of the other variable.
        strata: the stratum of each column; all columns are one stratum by default.
        level: coverage of the interval.

    Returns:
        The correlation with its interval; NaN for fewer than `MIN_UNITS` units.
    """
    x, y = (values.reshape(len(values), -1).astype(float) for values in (x, y))
    labels = (
        np.zeros(x.shape[1], int) if strata is None else np.unique(np.asarray(strata), return_inverse=True)[1]
    )
    known = ~(np.isnan(x) | np.isnan(y))
    if known.any(axis=1).sum() < MIN_UNITS:
        return Interval(float("nan"), float("nan"), float("nan"))
    x, y, kept = (table[known.any(axis=1)] for table in (x, y, known))
    sums = np.stack([_rank_sums(x, y, kept, labels == label) for label in range(labels.max() + 1)], axis=1)
    units = len(sums)
    # The sums of a resample depend only on how often each unit is in it.
    times = np.random.default_rng(0).multinomial(units, np.full(units, 1 / units), size=RANK_RESAMPLES)
    resampled = (times @ sums.reshape(units, -1)).reshape(-1, *sums.shape[1:])
    return _percentiles(float(_rank_correlation(sums.sum(axis=0))), _rank_correlation(resampled), level)


def _rank_sums(
    x: Float[np.ndarray, "units columns"],
    y: Float[np.ndarray, "units columns"],
    kept: Bool[np.ndarray, "units columns"],
    in_stratum: Bool[np.ndarray, " columns"],
) -> Float[np.ndarray, "units 6"]:
    """What each unit adds to a stratum's number of values and to the sums of ranks, their squares and products."""
    kept = kept & in_stratum
    a, b = np.zeros(x.shape), np.zeros(x.shape)
    for ranks, values in ((a, x), (b, y)):
        ranks[kept] = stats.rankdata(values[kept]) - (kept.sum() + 1) / 2
    return np.stack([kept, a, b, a * a, b * b, a * b], axis=-1).sum(axis=1)


def _rank_correlation(sums: Float[np.ndarray, "*batch strata 6"]) -> Float[np.ndarray, "*batch"]:
    """Average of the strata's rank correlations, weighted by their numbers of values."""
    n, a, b, aa, bb, ab = np.moveaxis(sums, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = (aa - a * a / n) * (bb - b * b / n)
        correlation = (ab - a * b / n) / np.sqrt(np.where(inside > 1e-9 * aa * bb, inside, np.nan))
        known = np.isfinite(correlation)
        average = np.where(known, n * correlation, 0).sum(axis=-1) / np.where(known, n, 0).sum(axis=-1)
        return np.asarray(np.round(average, 12))  # ranks that cancel leave 1e-17


def bootstrap(
    rows: Num[np.ndarray, "rows columns"],
    statistic: Statistic,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
) -> Interval:
    """Percentile bootstrap interval of a statistic of rows (Efron 1979), always from the same random numbers.

    Args:
        rows: the sample; a row is resampled as a whole.
        statistic: a function of rows, or of a batch of resamples of them along a leading axis.
        level: coverage of the interval, whose ends are the (1 - level) / 2 and (1 + level) / 2 quantiles.
        resamples: number of resamples.

    Returns:
        The statistic of the rows themselves with its interval, which is NaN for a single row.
    """
    value = float(statistic(rows))
    if rows.shape[0] < 2:
        return Interval(value, float("nan"), float("nan"))
    picks: Int[np.ndarray, "resamples rows"]
    picks = np.random.default_rng(0).integers(rows.shape[0], size=(resamples, rows.shape[0]))
    return _percentiles(value, statistic(rows[picks]), level)


def _percentiles(value: float, resampled: Float[np.ndarray, " resamples"], level: float) -> Interval:
    if not np.isfinite(resampled).any():
        return Interval(value, float("nan"), float("nan"))
    low, high = np.nanquantile(resampled, [(1 - level) / 2, (1 + level) / 2])
    return Interval(value, float(low), float(high))
