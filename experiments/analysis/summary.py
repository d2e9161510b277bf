"""A row per cell: regret, its paired gap to exact draws, and what the sampler did."""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from experiments.analysis.statistics import paired_difference, standard_error
from experiments.config.cell import REFERENCE, Cell
from experiments.config.labels import varied
from experiments.execute.cell_status import DONE
from experiments.storage.codecs import values

NAMES = ("environment", "agent", "posterior", "sampler")
LOCKED = 3.0  # a run whose regret is this many times the oracle's mean counts as locked in
QUALITY = (
    "tv",
    "tv_floor",
    "sliced_wasserstein",
    "mean_error",
    "covariance_error",
    "spread",
    "nested_rhat",
    "rhat",
    "ess_per_gradient",
    "unique",
)

type Row = dict[str, Any]


def summarise(
    cells: Sequence[Cell], data: Mapping[str, xr.DataTree], status: Mapping[str, tuple[str, str]]
) -> list[Row]:
    """The rows of a study, in the order of its cells."""
    extra = [key for key in varied(cells) if key not in (*NAMES, "rounds", "runs", "seed")]
    references = {
        cell.reference_key(): data[cell.id]
        for cell in cells
        if cell.flat.get("sampler") == REFERENCE and cell.id in data
    }
    return [_row(cell, data.get(cell.id), references, extra, status) for cell in cells]


def _row(
    cell: Cell,
    data: xr.DataTree | None,
    references: Mapping[str, xr.DataTree],
    extra: Sequence[str],
    status: Mapping[str, tuple[str, str]],
) -> Row:
    row: Row = {name: cell.flat.get(name, "") for name in NAMES}
    row |= {"runs": cell.runs, "rounds": cell.rounds, "seed": cell.seed}
    row |= {key: cell.flat.get(key, "") for key in extra}
    row["status"], row["reason"] = status.get(cell.id, DONE)
    if data is None:
        return row
    final = final_regret(data)
    row |= {
        "final_regret_mean": float(final.mean()),
        "final_regret_se": standard_error(final),
        "final_regret_median": float(np.median(final)),
    }
    reference = references.get(cell.reference_key()) if "sampler" in cell.flat else None
    if reference is not None and cell.flat["sampler"] != REFERENCE:
        gap = paired_difference(final, final_regret(reference))
        row |= {"regret_gap": gap.value, "regret_gap_low": gap.low, "regret_gap_high": gap.high}
        row["regret_gap_median"] = float(np.median(final - final_regret(reference)))
    if reference is not None:
        row["locked_share"] = locked_share(final, final_regret(reference))
    row |= {
        "acceptance_rate": _mean(values(data, "acceptance_rate")),
        "divergences": int(values(data, "num_divergent").sum()),
        "num_resets": int(values(data, "num_resets").sum()),
        "gradients_per_round": float(values(data, "num_gradients").mean()) / cell.record_every,
        "seconds": data.attrs["seconds"],
        "compile_seconds": data.attrs["compile_seconds"],
    }
    if "diagnostics" in data.children:
        row |= {name: _median(values(data.children["diagnostics"], name)) for name in QUALITY}
    return row


def final_regret(data: xr.DataTree) -> np.ndarray:
    """Each run's regret at the end."""
    return np.asarray(values(data, "regret").sum(axis=1))


def locked_share(final: np.ndarray, reference: np.ndarray) -> float:
    """The share of runs whose regret is far above what exact draws have on average: heavy tails in one number."""
    return float(np.mean(final > LOCKED * reference.mean()))


def _mean(found: np.ndarray) -> float:
    known = found[np.isfinite(found)]
    return float(known.mean()) if known.size else float("nan")


def _median(found: np.ndarray) -> float:
    known = found[~np.isnan(found)]
    return float(np.median(known)) if known.size else float("nan")


def columns(rows: Sequence[Row]) -> list[str]:
    """All columns, in order of first appearance."""
    return list(dict.fromkeys(key for row in rows for key in row))


def to_csv(rows: Sequence[Row]) -> bytes:
    """The rows as CSV; a value that does not exist is an empty field."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns(rows), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: "" if value != value else value for key, value in row.items()} for row in rows)
    return text.getvalue().encode()
