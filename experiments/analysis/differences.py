"""Paired differences in regret between any two cells that met the same random numbers."""

import itertools
import json
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from experiments.analysis.statistics import Interval, paired_difference
from experiments.config.cell import Cell

MAX_CELLS = 12  # cells that are compared each with each; of more, each with the best

ENVIRONMENT_GROUPS = ("environment", "noise", "drift", "feedback")

type FinalRegret = Mapping[str, Float[np.ndarray, " runs"]]  # final regret of each run, by cell id


def comparable(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Groups cells that met the same random numbers: the same environment in all its parts, seed, runs and rounds."""
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        parts = {key: value for key, value in cell.flat.items() if key.startswith(ENVIRONMENT_GROUPS)}
        numbers = {"rounds": cell.rounds, "runs": cell.runs, "seed": cell.seed}
        groups.setdefault(json.dumps(parts | numbers, sort_keys=True), []).append(cell)
    return list(groups.values())


def best_of(cells: Sequence[Cell], final: FinalRegret) -> Cell:
    """The cell with the least mean regret; the first of several."""
    return min(cells, key=lambda cell: float(final[cell.id].mean()))


def gaps_to_best(cells: Sequence[Cell], final: FinalRegret) -> dict[str, tuple[Cell, Interval]]:
    """For each cell but the best of its group: the best cell, and the mean paired difference to it.

    The best is chosen by the same numbers, so that a difference whose interval excludes zero is a little less certain
    than its level says.
    """
    gaps = {}
    for group in comparable(cells):
        best = best_of(group, final)
        for cell in group:
            if cell.id != best.id:
                gaps[cell.id] = best, paired_difference(final[cell.id], final[best.id])
    return gaps


def pairwise_rows(
    cells: Sequence[Cell], final: FinalRegret, labels: Mapping[str, str], panels: Mapping[str, str]
) -> list[dict[str, object]]:
    """A row for each pair of comparable cells: the mean difference with its interval, and what it says.

    Args:
        cells: The cells that have results.
        final: Their final regret.
        labels: By cell.
        panels: By cell.
    """
    rows: list[dict[str, object]] = []
    for group in comparable(cells):
        best = best_of(group, final)
        pairs = (
            list(itertools.combinations(group, 2))
            if len(group) <= MAX_CELLS
            else [(cell, best) for cell in group if cell.id != best.id]
        )
        for first, second in pairs:
            difference = paired_difference(final[first.id], final[second.id])
            rows.append(
                {
                    "panel": panels[first.id],
                    "first": labels[first.id],
                    "second": labels[second.id],
                    "difference": difference.value,
                    "difference_low": difference.low,
                    "difference_high": difference.high,
                    "less_regret": _less_regret(difference, labels[first.id], labels[second.id]),
                }
            )
    return rows


def _less_regret(difference: Interval, first: str, second: str) -> str:
    """The cell with less regret by the interval of the difference first - second."""
    if difference.high < 0:
        return first
    return second if difference.low > 0 else "not distinguishable"
