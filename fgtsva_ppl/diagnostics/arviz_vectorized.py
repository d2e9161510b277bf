"""ArviZ's R-hat, effective sample sizes (ESS) and MCSE, vectorized over many series at once.

ArviZ loops over its series in Python. These functions compute the same numbers on arrays with any leading axes, for
finite series in which no chain is constant; the tests compare every one of them with ArviZ. The definitions are those
of Vehtari, Gelman, Simpson, Carpenter & Bürkner (2021), "Rank-normalization, folding, and localization".
"""

import numpy as np
from arviz_stats.base import array_stats  # type: ignore[attr-defined]
from jaxtyping import Float
from scipy import special, stats

TAIL_PROBABILITIES = (0.05, 0.95)


def split_chains(series: Float[np.ndarray, "*batch chains draws"]) -> Float[np.ndarray, "*batch halves half"]:
    """Splits every chain into its two halves."""
    half = series.shape[-1] // 2
    return np.concatenate([series[..., :half], series[..., -half:]], axis=-2)


def z_scale(series: Float[np.ndarray, "*batch chains draws"]) -> Float[np.ndarray, "*batch chains draws"]:
    """Rank-normalizes: ranks over all chains and draws become normal quantiles (Blom's formula)."""
    size = series.shape[-2] * series.shape[-1]
    ranks = stats.rankdata(series.reshape(*series.shape[:-2], size), axis=-1)
    # Ties have half-integer ranks, so a table at every half rank replaces an evaluation per draw.
    quantiles = special.ndtri((np.arange(2 * size + 1) / 2 - 3 / 8) / (size + 1 / 4))
    return np.asarray(quantiles[(2 * ranks).astype(int)].reshape(series.shape))


def ess(series: Float[np.ndarray, "*batch chains draws"]) -> Float[np.ndarray, "*batch"]:
    """ESS of the mean, without splitting chains: N / (-1 + 2 sum_k P_k).

    P_k are sums of autocorrelations at lags 2k and 2k + 1, truncated and made monotone by Geyer's initial monotone
    sequence (Geyer 1992).

    Args:
        series: Draws of one quantity.

    Returns:
        The effective sample size; N, the number of draws, where all draws are equal, as in ArviZ.
    """
    chains, draws = series.shape[-2:]
    autocovariance = array_stats.autocov(series, axis=-1).mean(axis=-2)
    within = autocovariance[..., :1] * draws / (draws - 1)
    variance = within * (draws - 1) / draws
    if chains > 1:
        variance = variance + series.mean(axis=-1).var(axis=-1, ddof=1)[..., None]
    constant = np.ptp(series, axis=(-2, -1)) < np.finfo(float).resolution
    correlation = 1 - (within - autocovariance) / np.where(constant[..., None], 1.0, variance)
    correlation[..., 0] = 1
    last_pair = max(0, (draws - 3) // 2)
    pairs = correlation[..., : 2 * last_pair + 2 : 2] + correlation[..., 1 : 2 * last_pair + 2 : 2]
    truncate = pairs <= 0
    truncate[..., last_pair] = True
    end = np.argmax(truncate, axis=-1)[..., None]
    monotone = np.minimum.accumulate(pairs, axis=-1)
    pair_sum = np.where(np.arange(last_pair + 1) < end, monotone, 0).sum(axis=-1)
    last = np.take_along_axis(correlation, 2 * end, axis=-1)[..., 0]
    add_last = (np.take_along_axis(pairs, end, axis=-1)[..., 0] >= 0) | (last > 0)
    size = chains * draws
    autocorrelation_time = np.maximum(-1 + 2 * pair_sum + np.where(add_last, last, 0), 1 / np.log10(size))
    return np.asarray(np.where(constant, size, size / autocorrelation_time))


def ess_bulk(series: Float[np.ndarray, "*batch chains draws"]) -> Float[np.ndarray, "*batch"]:
    """Bulk ESS: ESS of the rank-normalized split chains."""
    return ess(z_scale(split_chains(series)))


def ess_tail(
    series: Float[np.ndarray, "*batch chains draws"], prob: tuple[float, float] = TAIL_PROBABILITIES
) -> Float[np.ndarray, "*batch"]:
    """Tail ESS: the smaller ESS of the indicators of lying below two quantiles.

    Args:
        series: Draws of one quantity.
        prob: Probabilities of the lower and the upper quantile. The default, 5% and 95%, is that of Vehtari et al.
            (2021) and of Stan. ArviZ's own default is another one: `arviz.ess(..., method="tail")` takes
            `rcParams["stats.ci_prob"]` (0.89 in ArviZ 1.x), that is the 11% and 89% quantiles.

    Returns:
        The same as `arviz.ess(..., method="tail", prob=prob)`.
    """
    quantiles = np.quantile(series, prob, axis=(-2, -1))
    lower, upper = (
        ess(split_chains((series <= quantile[..., None, None]).astype(float))) for quantile in quantiles
    )
    return np.asarray(np.minimum(lower, upper))


def mcse_mean(series: Float[np.ndarray, "*batch chains draws"]) -> Float[np.ndarray, "*batch"]:
    """Monte Carlo standard error of the mean: sd / sqrt(ESS of the split chains)."""
    return np.asarray(series.std(axis=(-2, -1), ddof=1) / np.sqrt(ess(split_chains(series))))


def rhat(series: Float[np.ndarray, "*batch chains draws"]) -> Float[np.ndarray, "*batch"]:
    """Rank-normalized split R-hat: the larger of those of the draws and of their distances from the median."""
    halves = split_chains(series)
    folded = np.abs(halves - np.median(halves, axis=(-2, -1), keepdims=True))
    return np.asarray(np.maximum(_rhat(z_scale(halves)), _rhat(z_scale(folded))))


def _rhat(series: np.ndarray) -> np.ndarray:
    draws = series.shape[-1]
    between = series.mean(axis=-1).var(axis=-1, ddof=1)
    within = series.var(axis=-1, ddof=1).mean(axis=-1)
    return np.asarray(np.sqrt(between / within + (draws - 1) / draws))
