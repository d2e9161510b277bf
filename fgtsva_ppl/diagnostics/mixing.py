"""Mixing: the chain as a chain, through ArviZ. A frozen chain must look frozen."""

from typing import NamedTuple

import numpy as np
from arviz_stats.base import array_stats  # type: ignore[attr-defined]


class Mixing(NamedTuple):
    """Of several chains; the worst coordinate counts."""

    rhat: float
    ess_bulk: float
    ess_tail: float
    mcse: float  # of the mean, in standard deviations
    unique: float  # share of draws that differ from the one before


def unique_share(chains: np.ndarray) -> float:
    """The share of transitions of (chains, draws, size) positions that moved."""
    moved = np.any(chains[:, 1:] != chains[:, :-1], axis=-1)
    return float(moved.mean())


def mixing(chains: np.ndarray) -> Mixing:
    """Diagnostics of (chains, draws, size) positions.

    ArviZ reports an effective size of N for a constant chain; no chain has more effective draws than different ones,
    so the sizes are cut there, and R-hat of chains that stand still is infinite.
    """
    unique = unique_share(chains)
    if not np.all(np.isfinite(chains)):
        return Mixing(np.inf, 0.0, 0.0, np.inf, unique)
    different = chains.shape[0] + round(unique * chains.shape[0] * (chains.shape[1] - 1))
    values = np.moveaxis(chains, -1, 0)  # size, chain, draw
    if np.any(np.ptp(values, axis=-1) == 0):  # not std, which rounding keeps from zero
        return Mixing(np.inf, float(chains.shape[0]), float(chains.shape[0]), np.inf, unique)
    ess_bulk = array_stats.ess(values, method="bulk")
    ess_tail = array_stats.ess(values, method="tail", prob=(0.05, 0.95))
    error = array_stats.mcse(values, method="mean") / values.std(axis=(-2, -1))
    return Mixing(
        float(np.max(array_stats.rhat(values, method="rank"))),
        float(min(np.min(ess_bulk), different)),
        float(min(np.min(ess_tail), different)),
        float(np.max(error)),
        unique,
    )


def energy_fraction(energies: np.ndarray) -> float:
    """E-BFMI of (chains, draws) energies, the worst chain; NaN for a sampler whose energies have no meaning."""
    if energies.ndim < 2 or not np.all(np.isfinite(energies)) or np.any(np.ptp(energies, axis=-1) == 0):
        return float("nan")
    return float(np.min(array_stats.bfmi(energies)))
