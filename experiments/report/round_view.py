"""The data of the view of a probed round, thinned and rounded to stay small: action probabilities, traces, ranks."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Int, Num

from experiments.analysis.results import StudyResults
from experiments.figures.style import look
from fgtsva_ppl.diagnostics import METRICS

CHAINS, DRAWS = 4, 250  # of a trace, at most
MIN_DRAWS = 50
VALUES = (
    250_000  # in all traces together, about four bytes each: the page of the default study stays below 2 MB
)
COORDINATES = 4  # of a cell: those on which its chains disagree most
LEVELS = 999  # a trace is drawn some hundred pixels high
BINS = 20
ARMS = 40  # bars that can be distinguished


class ProbedCell(NamedTuple):
    """A cell's diagnostics and chains at its probe rounds."""

    id: str
    label: str
    panel: str
    colour: str
    diagnostics: xr.Dataset | None  # dims (probed_run, probe), action probabilities (probed_run, probe, arm)
    chains: Mapping[int, xr.Dataset]  # by round, dims (chain, draw, ...)

    @property
    def probes(self) -> list[int]:
        """The rounds with diagnostics or chains."""
        diagnosed = () if self.diagnostics is None else self.diagnostics["probe"].values
        return sorted({*self.chains, *(int(t) for t in diagnosed)})


def probed_cells(results: StudyResults) -> list[ProbedCell]:
    """The cells of a study that have results, with what is stored of their probe rounds."""
    others = tuple(results.labels.values())
    cells = []
    for cell in results.done:
        stored = results.data[cell.id].children.get("diagnostics")
        diagnostics = None if stored is None else stored.to_dataset(inherit=False)
        if diagnostics is not None and "probe" not in diagnostics.coords:
            diagnostics = None
        trees = {t: results.tree(cell, t) for t in results.probed_rounds(cell)}
        chains = {
            t: tree.children["posterior"].dataset for t, tree in trees.items() if "posterior" in tree.children
        }
        colour = look(str(cell.flat.get("sampler", "")), others)["color"]
        cells.append(
            ProbedCell(cell.id, results.labels[cell.id], results.panels[cell.id], colour, diagnostics, chains)
        )
    return cells


def rounds(cells: Sequence[ProbedCell]) -> list[dict[str, Any]]:
    """The data of the view, an entry per cell that has some."""
    chosen = [_coordinates(cell.chains) for cell in cells]
    series = sum(len(keys) * len(cell.chains) for keys, cell in zip(chosen, cells, strict=True))
    draws = max(MIN_DRAWS, min(DRAWS, VALUES // (CHAINS * max(series, 1))))
    return [
        {
            "id": cell.id,
            "label": cell.label,
            "panel": cell.panel,
            "colour": cell.colour,
            "rounds": [_round(cell, t, keys, draws) for t in cell.probes],
        }
        for cell, keys in zip(cells, chosen, strict=True)
        if cell.probes
    ]


def _round(cell: ProbedCell, t: int, keys: Sequence[str], draws: int) -> dict[str, Any]:
    entry: dict[str, Any] = {"round": t}
    diagnostics = cell.diagnostics
    if diagnostics is not None and t in diagnostics["probe"].values:
        first = diagnostics.sel(probe=t)
        first = first.isel({dim: 0 for dim in first.dims if dim != "arm"})  # the run whose chains are stored
        entry["run"] = next((int(first[c]) for c in first.coords if c != "probe" and first[c].ndim == 0), 0)
        entry["metrics"] = {key: _number(first[key].item()) for key in METRICS if key in first}
        entry |= _arms(first)
    if t in cell.chains:
        values = _series(cell.chains[t])
        entry["chains"] = {key: _chains(values[key], draws) for key in keys if key in values}
    return entry


def _arms(first: xr.Dataset) -> dict[str, Any]:
    """Action probabilities and the exact ones; of many arms only the most probable ones."""
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


def _series(posterior: xr.Dataset) -> dict[str, Num[np.ndarray, "chains draws"]]:
    """Every coordinate of every site as (chain, draw)."""
    series = {}
    for name, values in posterior.data_vars.items():
        if not {"chain", "draw"} <= set(values.dims) or not np.issubdtype(values.dtype, np.number):
            continue
        array = values.transpose("chain", "draw", ...).values
        for index in np.ndindex(array.shape[2:]):
            suffix = f"[{', '.join(map(str, index))}]" if index else ""
            series[f"{name}{suffix}"] = array[(..., *index)]
    return series


def _coordinates(chains: Mapping[int, xr.Dataset]) -> list[str]:
    worst: dict[str, float] = {}
    for posterior in chains.values():
        for key, values in _series(posterior).items():
            worst[key] = max(worst.get(key, 0.0), _disagreement(values))
    kept = sorted(worst, key=lambda key: -worst[key])[:COORDINATES]
    return [key for key in worst if key in kept]


def _disagreement(values: Num[np.ndarray, "chains draws"]) -> float:
    """Variance of the chains' means, in units of the variance within them; infinite where a chain does not move."""
    if not np.all(np.isfinite(values)) or np.any(np.ptp(values, axis=1) == 0):
        return float("inf")
    return float(values.mean(axis=1).var() / values.var(axis=1).mean())


def _chains(values: Num[np.ndarray, "chains draws"], draws: int) -> dict[str, Any]:
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


def _ranks(values: Num[np.ndarray, "chains draws"]) -> Int[np.ndarray, "chains bins"]:
    """Rank histograms by chain; equal draws have the mean of their ranks."""
    _, group, counts = np.unique(values.ravel(), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    middle = (last - (counts + 1) / 2)[group].reshape(values.shape)
    bins = np.minimum((middle * BINS / values.size).astype(int), BINS - 1)
    return np.stack([np.bincount(chain, minlength=BINS) for chain in bins])


def _number(value: float) -> float | str | None:
    """Four digits; JSON has no infinity and no NaN, so these are a string and null."""
    if np.isnan(value):
        return None
    return float(f"{value:.4g}") if np.isfinite(value) else "∞" if value > 0 else "−∞"
