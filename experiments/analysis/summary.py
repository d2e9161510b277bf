"""The summary, a row per cell: regret, its paired gap to exact draws, and what the sampler did."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Float, Num

from experiments.analysis.arrays import CellData, diagnostic, final_regret, gradients_per_round
from experiments.analysis.pairs import Pair
from experiments.analysis.statistics import Interval, known_median, standard_error
from experiments.config.cell import Cell
from experiments.config.labels import varied
from experiments.storage.codecs import values
from fgtsva_ppl.diagnostics import METRICS

NAMES = ("environment", "agent", "posterior", "sampler")
COORDINATES = "sampler.preconditioner"
LARGE_REGRET = 3.0  # a run with this many times the mean regret of exact draws has large regret

type Row = dict[str, Any]


def summary_rows(
    cells: Sequence[Cell],
    data: CellData,
    status: Mapping[str, tuple[str, str]],
    pairs: Sequence[Pair],
    references: CellData,
) -> list[Row]:
    """A row per cell, in the order of the study; one that failed has its status and no numbers.

    Args:
        cells: all cells of the study.
        data: the arrays of the cells that have some, by id.
        status: status and reason, by id.
        pairs: the cells that have an exact reference.
        references: the arrays of each cell's exact reference, by the cell's id; a reference is its own.
    """
    extra = [key for key in varied(cells) if key not in (*NAMES, "rounds", "runs", "seed")]
    coordinates = {cell.flat[COORDINATES] for cell in cells if COORDINATES in cell.flat}
    if len(coordinates) > 1 and COORDINATES not in extra:  # defaults of samplers that are not in their names
        extra.append(COORDINATES)
    by_id = {pair.cell.id: pair for pair in pairs}
    rows = []
    for cell in cells:
        row: Row = {name: cell.flat.get(name, "") for name in NAMES}
        row |= {"runs": cell.runs, "rounds": cell.rounds, "seed": cell.seed}
        row |= {key: cell.flat.get(key, "") for key in extra}
        row["status"], row["reason"] = status[cell.id]
        if cell.id in data:
            row |= _numbers(data[cell.id], by_id.get(cell.id), references.get(cell.id))
        rows.append(row)
    return rows


def _numbers(data: xr.DataTree, pair: Pair | None, reference: xr.DataTree | None) -> Row:
    final = final_regret(data)
    row: Row = {
        "final_regret_mean": float(final.mean()),
        "final_regret_se": standard_error(final),
        "final_regret_median": float(np.median(final)),
    }
    if pair is not None:
        gap = pair.regret_gap
        row |= {"regret_gap": gap.value, "regret_gap_low": gap.low, "regret_gap_high": gap.high}
        row["regret_gap_median"] = float(np.median(pair.regret_gap_by_run))
    if reference is not None:
        row["fraction_large_regret"] = fraction_large_regret(final, final_regret(reference))
    row |= {
        "acceptance_rate": _finite_mean(values(data, "acceptance_rate")),
        "num_divergent": int(values(data, "num_divergent").sum()),
        "num_resets": int(values(data, "num_resets").sum()),
        "gradients_per_round": gradients_per_round(data),
        "seconds": data.attrs["seconds"],
        "compile_seconds": data.attrs["compile_seconds"],
    }
    if "diagnostics" in data.children:
        if "seconds" in data["diagnostics"].attrs:  # older versions did not store it
            row["diagnose_seconds"] = float(data["diagnostics"].attrs["seconds"])
        row |= {
            name: known_median(diagnostic(data, name))
            for name, metric in METRICS.items()
            if metric.in_summary
        }
    return row


def defaults_note(rows: Sequence[Row]) -> str:
    """A sentence on samplers whose default coordinates differ, which their names do not say; empty if there are none.

    Args:
        rows: the rows of the summary. Where the preconditioner is varied, their columns say it.
    """
    values: dict[str, set[str]] = {}
    for row in rows:
        if row.get(COORDINATES):
            values.setdefault(str(row["sampler"]), set()).add(str(row[COORDINATES]))
    if any(len(own) > 1 for own in values.values()) or len({*map(frozenset, values.values())}) < 2:
        return ""
    by_value: dict[str, list[str]] = {}
    for sampler, (value,) in values.items():
        by_value.setdefault(value, []).append(sampler)
    listed = "; ".join(f"{value} ({', '.join(samplers)})" for value, samplers in by_value.items())
    return f"Samplers differ in more than their kernel, by default also in the preconditioner: {listed}."


def fraction_large_regret(final: Float[np.ndarray, " runs"], reference: Float[np.ndarray, " runs"]) -> float:
    """Fraction of runs whose regret is above `LARGE_REGRET` times the mean of exact draws: heavy tails in a number."""
    return float(np.mean(final > LARGE_REGRET * reference.mean()))


def _finite_mean(numbers: Num[np.ndarray, "..."]) -> float:
    known = numbers[np.isfinite(numbers)]
    return float(known.mean()) if known.size else float("nan")


def interval_of(row: Mapping[str, Any], key: str) -> Interval | None:
    """A row's value with the ends of its interval, which are NaN where they are missing; None without a value."""
    unknown = float("nan")
    if row.get(key) is None:
        return None
    return Interval(row[key], row.get(f"{key}_low", unknown), row.get(f"{key}_high", unknown))


def regret_gap_of(row: Mapping[str, Any]) -> Interval | None:
    """A row's paired gap to exact draws; None where it has no reference."""
    return interval_of(row, "regret_gap")


def to_frame(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows as a table: all columns in order of first appearance; a value that does not exist is missing.

    Whole numbers stay whole where some are missing (pandas' Int64).
    """
    columns = list(dict.fromkeys(key for row in rows for key in row))
    return pd.DataFrame({key: _column([row.get(key) for row in rows]) for key in columns})


def _column(entries: Sequence[Any]) -> pd.Series:
    kinds = {type(entry) for entry in entries if entry is not None and entry != ""}
    known = [None if entry is None or entry == "" or entry != entry else entry for entry in entries]
    if kinds == {int}:
        return pd.Series(known, dtype="Int64" if None in known else "int64")
    return pd.Series(known, dtype="float64" if kinds == {float} else "object")


def to_csv(table: pd.DataFrame) -> bytes:
    """The table as CSV; a missing value is an empty field."""
    return table.to_csv(index=False, lineterminator="\n").encode()


def records(table: pd.DataFrame) -> list[Row]:
    """The rows of a table in plain types, without the values that are missing."""
    return [
        {str(key): value for key, value in row.items() if not pd.isna(value)}
        for row in table.to_dict(orient="records")
    ]
