"""Mixing: the chain as a chain, by ArviZ's definitions. A frozen chain must look frozen."""

from typing import NamedTuple

import numpy as np
from arviz_stats.base import array_stats  # type: ignore[attr-defined]

from fgtsva_ppl.diagnostics import arviz_vectorized


class Mixing(NamedTuple):
    """Of several chains, (...); the worst coordinate counts."""

    rhat: np.ndarray
    ess_bulk: np.ndarray
    ess_tail: np.ndarray
    mcse: np.ndarray  # of the mean, in standard deviations
    unique: np.ndarray  # share of draws that differ from the one before


def unique_share(chains: np.ndarray) -> np.ndarray:
    """The share of transitions of (..., chains, draws, size) positions that moved."""
    moved = np.any(chains[..., 1:, :] != chains[..., :-1, :], axis=-1)
    return np.asarray(moved.mean(axis=(-2, -1)))


def mixing(chains: np.ndarray) -> Mixing:
    """Diagnostics of (..., chains, draws, size) positions.

    ArviZ reports an effective size of N for a constant chain; no chain has more effective draws than different ones,
    so the sizes are cut there, and R-hat of chains that stand still is infinite.
    """
    number, draws, size = chains.shape[-3:]
    flat = chains.reshape(-1, number, draws, size)
    unique = unique_share(flat)
    finite = np.all(np.isfinite(flat), axis=(1, 2, 3))
    still = np.any(np.ptp(flat, axis=2) == 0, axis=(1, 2))  # not std, which rounding keeps from zero
    rhat, mcse = np.full((2, len(flat)), np.inf)
    ess_bulk, ess_tail = np.tile(np.where(finite, float(number), 0.0), (2, 1))
    sound = finite & ~still
    if np.any(sound):
        values = np.moveaxis(flat[sound], -1, 1)  # problem, size, chain, draw
        different = number + np.round(unique[sound] * number * (draws - 1))
        rhat[sound] = arviz_vectorized.rhat(values).max(axis=1)
        ess_bulk[sound] = np.minimum(arviz_vectorized.ess_bulk(values).min(axis=1), different)
        ess_tail[sound] = np.minimum(arviz_vectorized.ess_tail(values).min(axis=1), different)
        mcse[sound] = (arviz_vectorized.mcse_mean(values) / values.std(axis=(-2, -1))).max(axis=1)
    found = (rhat, ess_bulk, ess_tail, mcse, unique)
    return Mixing(*(np.asarray(one.reshape(chains.shape[:-3])) for one in found))


def energy_fraction(energies: np.ndarray) -> float:
    """E-BFMI of (chains, draws) energies, the worst chain; NaN for a sampler whose energies have no meaning."""
    if energies.ndim < 2 or not np.all(np.isfinite(energies)) or np.any(np.ptp(energies, axis=-1) == 0):
        return float("nan")
    return float(np.min(array_stats.bfmi(energies)))
