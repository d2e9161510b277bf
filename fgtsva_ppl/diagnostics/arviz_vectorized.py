"""ArviZ's R-hat and effective sizes of many series at once, each (..., chain, draw).

ArviZ goes through its series one by one in Python. These are its definitions over arrays, for finite series in which no
chain stands still; a test holds every one of them to ArviZ's own number.
"""

import numpy as np
from arviz_stats.base import array_stats  # type: ignore[attr-defined]
from scipy import special, stats

TAILS = (0.05, 0.95)


def split(series: np.ndarray) -> np.ndarray:
    """Every chain as two, its halves."""
    half = series.shape[-1] // 2
    return np.concatenate([series[..., :half], series[..., -half:]], axis=-2)


def normal_scores(series: np.ndarray) -> np.ndarray:
    """Ranks over chains and draws, as the normal quantiles that they stand for (Blom)."""
    size = series.shape[-2] * series.shape[-1]
    ranks = stats.rankdata(series.reshape(*series.shape[:-2], size), axis=-1)
    table = special.ndtri((np.arange(2 * size + 1) / 2 - 3 / 8) / (size + 1 / 4))  # ties have half ranks
    return np.asarray(table[(2 * ranks).astype(int)].reshape(series.shape))


def effective(series: np.ndarray) -> np.ndarray:
    """The effective size of chains as they are: autocorrelations summed by Geyer's initial monotone sequence."""
    chains, draws = series.shape[-2:]
    covariance = array_stats.autocov(series, axis=-1).mean(axis=-2)
    within = covariance[..., :1] * draws / (draws - 1)
    total = within * (draws - 1) / draws
    if chains > 1:
        total = total + series.mean(axis=-1).var(axis=-1, ddof=1)[..., None]
    level = np.ptp(series, axis=(-2, -1)) < np.finfo(float).resolution
    correlation = 1 - (within - covariance) / np.where(level[..., None], 1.0, total)
    correlation[..., 0] = 1
    most = max(0, (draws - 3) // 2)
    pairs = correlation[..., : 2 * most + 2 : 2] + correlation[..., 1 : 2 * most + 2 : 2]
    ends = pairs <= 0
    ends[..., most] = True
    end = np.argmax(ends, axis=-1)[..., None]
    falling = np.minimum.accumulate(pairs, axis=-1)
    before = np.where(np.arange(most + 1) < end, falling, 0).sum(axis=-1)
    last = np.take_along_axis(correlation, 2 * end, axis=-1)[..., 0]
    kept = (np.take_along_axis(pairs, end, axis=-1)[..., 0] >= 0) | (last > 0)
    size = chains * draws
    time = np.maximum(-1 + 2 * before + np.where(kept, last, 0), 1 / np.log10(size))
    return np.asarray(np.where(level, size, size / time))


def ess_bulk(series: np.ndarray) -> np.ndarray:
    """Of the normal scores."""
    return effective(normal_scores(split(series)))


def ess_tail(series: np.ndarray) -> np.ndarray:
    """The lesser of those of being below the 5% and below the 95% quantile."""
    limits = np.quantile(series, TAILS, axis=(-2, -1))
    below = [effective(split((series <= limit[..., None, None]).astype(float))) for limit in limits]
    return np.asarray(np.minimum(*below))


def mcse_mean(series: np.ndarray) -> np.ndarray:
    """Monte Carlo standard error of the mean."""
    return np.asarray(series.std(axis=(-2, -1), ddof=1) / np.sqrt(effective(split(series))))


def rhat(series: np.ndarray) -> np.ndarray:
    """Rank-normalised split R-hat: the greater of bulk and tail."""
    halves = split(series)
    folded = np.abs(halves - np.median(halves, axis=(-2, -1), keepdims=True))
    return np.asarray(np.maximum(_rhat(normal_scores(halves)), _rhat(normal_scores(folded))))


def _rhat(scores: np.ndarray) -> np.ndarray:
    draws = scores.shape[-1]
    between = scores.mean(axis=-1).var(axis=-1, ddof=1)
    within = scores.var(axis=-1, ddof=1).mean(axis=-1)
    return np.asarray(np.sqrt(between / within + (draws - 1) / draws))
