"""Mixing of chains by ArviZ's definitions, corrected so that a stuck chain looks stuck."""

from typing import NamedTuple

import numpy as np
from arviz_stats.base import array_stats  # type: ignore[attr-defined]
from jaxtyping import Float

from fgtsva_ppl.diagnostics import arviz_vectorized


class Mixing(NamedTuple):
    """Mixing diagnostics of several chains, of the worst coordinate each.

    Attributes:
        rhat: Rank-normalized split R-hat; infinite if a coordinate of a chain is constant.
        ess_bulk: Bulk effective sample size.
        ess_tail: Tail effective sample size, of the 5% and 95% quantiles.
        mcse: Monte Carlo standard error of the mean, relative to the standard deviation.
        fraction_moved: Fraction of transitions that moved.
    """

    rhat: Float[np.ndarray, "*runs"]
    ess_bulk: Float[np.ndarray, "*runs"]
    ess_tail: Float[np.ndarray, "*runs"]
    mcse: Float[np.ndarray, "*runs"]
    fraction_moved: Float[np.ndarray, "*runs"]


def fraction_moved(chains: Float[np.ndarray, "*runs chains draws size"]) -> Float[np.ndarray, "*runs"]:
    """Fraction of transitions that moved, that is of draws that differ from the one before."""
    moved = np.any(chains[..., 1:, :] != chains[..., :-1, :], axis=-1)
    return np.asarray(moved.mean(axis=(-2, -1)))


def mixing(chains: Float[np.ndarray, "*runs chains draws size"]) -> Mixing:
    """Computes R-hat, ESS and MCSE of chains.

    ArviZ reports an ESS of N for constant chains, and rejected proposals can leave fewer distinct draws than its
    ESS. Here the ESS is at most the number of distinct draws. If a coordinate of a chain is constant, R-hat and MCSE
    are infinite and the ESS is the number of chains; if a draw is not finite, the ESS is 0.

    Args:
        chains: Positions.

    Returns:
        The diagnostics, with the leading axes of the chains.
    """
    num_chains, draws, size = chains.shape[-3:]
    flat = chains.reshape(-1, num_chains, draws, size)
    moved = fraction_moved(flat)
    finite = np.all(np.isfinite(flat), axis=(1, 2, 3))
    constant = np.any(np.ptp(flat, axis=2) == 0, axis=(1, 2))  # not std, which rounding keeps from zero
    rhat, mcse = np.full((2, len(flat)), np.inf)
    ess_bulk, ess_tail = np.tile(np.where(finite, float(num_chains), 0.0), (2, 1))
    valid = finite & ~constant
    if np.any(valid):
        values = np.moveaxis(flat[valid], -1, 1)  # (runs, size, chains, draws)
        num_distinct = num_chains + np.round(moved[valid] * num_chains * (draws - 1))
        rhat[valid] = arviz_vectorized.rhat(values).max(axis=1)
        ess_bulk[valid] = np.minimum(arviz_vectorized.ess_bulk(values).min(axis=1), num_distinct)
        ess_tail[valid] = np.minimum(arviz_vectorized.ess_tail(values).min(axis=1), num_distinct)
        mcse[valid] = (arviz_vectorized.mcse_mean(values) / values.std(axis=(-2, -1))).max(axis=1)
    diagnostics = (rhat, ess_bulk, ess_tail, mcse, moved)
    return Mixing(*(np.asarray(values.reshape(chains.shape[:-3])) for values in diagnostics))


def ebfmi(energies: Float[np.ndarray, "*chains_and_draws"]) -> float:
    """Estimated Bayesian fraction of missing information (Betancourt 2016), of the worst chain.

    Args:
        energies: Energies (chains, draws); not finite, or without these axes, if the sampler has none.

    Returns:
        E-BFMI; NaN if the sampler has no energies.
    """
    if energies.ndim < 2 or not np.all(np.isfinite(energies)) or np.any(np.ptp(energies, axis=-1) == 0):
        return float("nan")
    return float(np.min(array_stats.bfmi(energies)))
