"""What the per-round view shows, thinned and rounded to stay small: action probabilities, traces, ranks."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from experiments.report.load import Probes
from fgtsva_ppl.diagnostics import METRICS

CHAINS, DRAWS = 4, 250  # at most, of a trace
LEAST_DRAWS = 50
VALUES = 1_000_000  # of all traces together, about four bytes each
COORDINATES = 4  # of a cell: those on which its chains disagree most
LEVELS = 999  # a trace is drawn some hundred pixels high
BINS = 20
ARMS = 40  # bars that can be told apart


def rounds(names: Sequence[Mapping[str, str]], probes: Sequence[Probes]) -> list[dict[str, Any]]:
    """Data of the view, a cell each; `names` holds its label, panel and colour."""
    chosen = [_coordinates(known.chains) for known in probes]
    series = sum(len(keys) * len(known.chains) for keys, known in zip(chosen, probes, strict=True))
    draws = max(LEAST_DRAWS, min(DRAWS, VALUES // (CHAINS * max(series, 1))))
    made = []
    for name, known, keys in zip(names, probes, chosen, strict=True):
        at = _probe_rounds(known)
        made.append({**name, "rounds": [_round(known, t, keys, draws) for t in at]})
    return [cell for cell in made if cell["rounds"]]


def _probe_rounds(known: Probes) -> list[int]:
    found = set(known.chains)
    if known.diagnostics is not None and "probe" in known.diagnostics.coords:
        found |= {int(t) for t in known.diagnostics["probe"].values}
    return sorted(found)


def _round(known: Probes, t: int, keys: Sequence[str], draws: int) -> dict[str, Any]:
    made: dict[str, Any] = {"round": t}
    diagnostics = known.diagnostics
    if diagnostics is not None and "probe" in diagnostics.coords and t in diagnostics["probe"].values:
        first = diagnostics.sel(probe=t)
        first = first.isel({dim: 0 for dim in first.dims if dim != "arm"})  # the run whose chains are stored
        made["run"] = next((int(first[c]) for c in first.coords if c != "probe" and first[c].ndim == 0), 0)
        made["metrics"] = {key: _number(first[key].item()) for key in METRICS if key in first}
        made |= _arms(first)
    if t in known.chains:
        values = _series(known.chains[t])
        made["chains"] = {key: _chains(values[key], draws) for key in keys if key in values}
    return made


def _arms(first: xr.Dataset) -> dict[str, Any]:
    """Action probabilities and the exact ones; of many arms only those that matter."""
    if "action_probability" not in first:
        return {}
    ours = np.asarray(first["action_probability"].values, float)
    exact = (
        np.asarray(first["action_probability_exact"].values, float)
        if "action_probability_exact" in first
        else np.full_like(ours, np.nan)
    )
    weight = np.nan_to_num(np.fmax(ours, exact))
    arms = np.sort(np.argsort(-weight, kind="stable")[:ARMS])
    return {
        "arms": [int(arm) for arm in arms],
        "left_out": int(ours.size - arms.size),
        "probability": [_number(p) for p in ours[arms]],
        "exact": [_number(p) for p in exact[arms]],
    }


def _series(posterior: xr.Dataset) -> dict[str, np.ndarray]:
    """Every coordinate of every site as (chain, draw)."""
    found = {}
    for name, values in posterior.data_vars.items():
        if not {"chain", "draw"} <= set(values.dims) or not np.issubdtype(values.dtype, np.number):
            continue
        array = values.transpose("chain", "draw", ...).values
        for index in np.ndindex(array.shape[2:]):
            suffix = f"[{', '.join(map(str, index))}]" if index else ""
            found[f"{name}{suffix}"] = array[(..., *index)]
    return found


def _coordinates(chains: Mapping[int, xr.Dataset]) -> list[str]:
    worst: dict[str, float] = {}
    for posterior in chains.values():
        for key, values in _series(posterior).items():
            worst[key] = max(worst.get(key, 0.0), _disagreement(values))
    kept = sorted(worst, key=lambda key: -worst[key])[:COORDINATES]
    return [key for key in worst if key in kept]


def _disagreement(values: np.ndarray) -> float:
    """Variance of the chains' means, in units of the variance within them; infinite where a chain stands still."""
    if not np.all(np.isfinite(values)) or np.any(np.ptp(values, axis=1) == 0):
        return float("inf")
    return float(values.mean(axis=1).var() / values.var(axis=1).mean())


def _chains(values: np.ndarray, draws: int) -> dict[str, Any]:
    """The trace in steps of a thousandth of its range, and how many draws of a chain fall in each bin of all ranks."""
    kept = values[:CHAINS]
    thin = -(-kept.shape[1] // draws)
    trace = kept[:, ::thin]
    finite = trace[np.isfinite(trace)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    scale = LEVELS / (high - low) if high > low else 0.0
    steps = [
        [round((value - low) * scale) if np.isfinite(value) else None for value in chain]
        for chain in trace.tolist()
    ]
    return {
        "low": _number(low),
        "high": _number(high),
        "thin": thin,
        "trace": steps,
        "ranks": _ranks(kept).tolist(),
    }


def _ranks(values: np.ndarray) -> np.ndarray:
    """Rank histograms by chain. Draws that are equal share their ranks' middle."""
    _, place, counts = np.unique(values.ravel(), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    middle = (last - (counts + 1) / 2)[place].reshape(values.shape)
    bins = np.minimum((middle * BINS / values.size).astype(int), BINS - 1)
    return np.stack([np.bincount(chain, minlength=BINS) for chain in bins])


def _number(value: float) -> float | str | None:
    """Four digits; what JSON cannot say is a word or nothing."""
    if np.isnan(value):
        return None
    return float(f"{value:.4g}") if np.isfinite(value) else "∞" if value > 0 else "−∞"
