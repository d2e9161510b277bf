"""Means, medians and paired differences, with intervals."""

from typing import NamedTuple

import numpy as np
from scipy import stats

LEVEL = 0.95


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
    """Student's interval for a mean."""
    mean, error = float(np.mean(values)), standard_error(values)
    half = float(stats.t.ppf((1 + level) / 2, values.size - 1)) * error if values.size > 1 else float("nan")
    return Interval(mean, mean - half, mean + half)


def paired_difference(values: np.ndarray, reference: np.ndarray, level: float = LEVEL) -> Interval:
    """Mean difference of values that met the same random numbers."""
    return mean_interval(values - reference, level)
