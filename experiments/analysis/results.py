"""`StudyResults`: everything that is derived from the stored cells of a study, each quantity computed once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Float

from experiments.analysis.arrays import CellData, chains_of_round, final_regret, probed_rounds, stack
from experiments.analysis.costs import Cost, cheapest, cost_rows
from experiments.analysis.diagnostics_vs_regret import association_rows, associations, by_round_rows
from experiments.analysis.differences import gaps_to_best, pairwise_rows
from experiments.analysis.hyperparameters import TunedAlgorithm, standing_rows, tuned_algorithms
from experiments.analysis.pairs import Pair
from experiments.analysis.statistics import Interval
from experiments.analysis.summary import Row, summary_rows, to_frame
from experiments.config.cell import REFERENCE, Cell
from experiments.config.comparison import Comparison
from experiments.config.labels import by_panel, cells_with, labels_of
from samplers.errors import InputError

DONE = ("done", "")


@dataclass(frozen=True, eq=False)
class StudyResults:
    """The results of a study, from its stored cells alone, as `load_results(folder)` returns them.

    In a notebook:

        results = load_results("results/default-1a2b3c4d")
        results.summary                                             # a row per cell
        results.select(sampler="mala", environment="sparse")         # ids of cells, by settings
        results.final_regret.sel(sampler="mala").mean("run")        # by one setting
        arviz.plot_trace(results.tree(results.cells[1], round=100))  # chains of a probed round
    """

    name: str  # of the study
    cells: tuple[Cell, ...]
    data: CellData  # the arrays of the cells that have some
    comparison: Comparison = field(default_factory=Comparison)
    status: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # status and reason, by cell
    config: Mapping[str, Any] = field(default_factory=dict)
    config_text: str = ""  # config.yaml as it was written
    folder: Path | None = None

    @classmethod
    def from_cells(
        cls,
        name: str,
        cells: Sequence[Cell],
        data: CellData,
        comparison: Comparison | None = None,
        status: Mapping[str, tuple[str, str]] | None = None,
    ) -> "StudyResults":
        """The results of cells that are in memory.

        Args:
            name: the study's name, which selects its findings and claims.
            cells: all cells of the study, in its order.
            data: their arrays (dims run, round) by id, with groups `diagnostics` and `round_N` of probed rounds.
            comparison: algorithms, sweep and bounds of the study's file.
            status: status and reason by id; a cell with arrays is done by default, one without has failed.
        """
        default = {cell.id: DONE if cell.id in data else ("failed", "no results") for cell in cells}
        return cls(name, tuple(cells), data, comparison or Comparison(), default | dict(status or {}))

    @property
    def title(self) -> str:
        """The title of the report."""
        return str(self.config.get("title", ""))

    @property
    def question(self) -> str:
        """The question that the study answers."""
        return str(self.config.get("question", ""))

    @property
    def command(self) -> str:
        """The command that ran it; empty for runs of older versions, which did not store it."""
        return str(self.config.get("command") or "")

    @cached_property
    def done(self) -> list[Cell]:
        """The cells that have results."""
        return [cell for cell in self.cells if cell.id in self.data]

    @cached_property
    def labels(self) -> dict[str, str]:
        """What distinguishes a cell from the others of its panel, by id."""
        return labels_of(self.cells)

    @cached_property
    def panels(self) -> dict[str, str]:
        """Environment and noise of a cell, with the settings of them that differ, by id."""
        return {cell.id: panel for panel, cells in by_panel(self.cells).items() for cell in cells}

    # Arrays over all cells

    def final(self, cell: Cell) -> Float[np.ndarray, " runs"]:
        """Cumulative regret of each run of a cell at its last round."""
        return final_regret(self.data[cell.id])

    @cached_property
    def regret(self) -> xr.DataArray:
        """Regret of each record, dims (cell, run, round); NaN beyond the runs and rounds of a smaller cell."""
        return self._stacked(lambda data: data["regret"]).rename("regret")

    @cached_property
    def cumulative_regret(self) -> xr.DataArray:
        """Cumulative regret, dims (cell, run, round)."""
        return self._stacked(lambda data: data["regret"].cumsum("round")).rename("cumulative_regret")

    @cached_property
    def final_regret(self) -> xr.DataArray:
        """Cumulative regret at the last round, dims (cell, run)."""
        return self._stacked(lambda data: data["regret"].sum("round")).rename("final_regret")

    @cached_property
    def diagnostics(self) -> xr.Dataset:
        """Diagnostics of the cells that were probed, dims (cell, probed_run, probe)."""
        return self._stacked(lambda data: data, "diagnostics")

    def _stacked(self, select: Callable[[xr.Dataset], Any], group: str | None = None) -> Any:
        """What is selected from each cell, or from a group of it, along the dimension `cell`."""
        parts = {}
        for cell in self.done:
            node = self.data[cell.id] if group is None else self.data[cell.id].children.get(group)
            if node is not None:
                parts[cell.id] = select(node.to_dataset(inherit=False))
        if not parts:
            return xr.Dataset() if group else xr.DataArray([], dims="cell")
        return stack([cell for cell in self.done if cell.id in parts], list(parts.values()), self.labels)

    # Chains of probed rounds, as ArviZ takes them

    def probed_rounds(self, cell: Cell) -> list[int]:
        """The rounds of a cell whose chains are stored."""
        return probed_rounds(self.data[cell.id]) if cell.id in self.data else []

    def tree(self, cell: Cell | str, round: int) -> xr.DataTree:
        """The chains of the first run at a probed round, with the groups `posterior` and `sample_stats`.

        Args:
            cell: a cell, or its id.
            round: a probed round, counted from 1.
        """
        key = cell if isinstance(cell, str) else cell.id
        if key not in self.data:
            raise InputError(f"unknown cell {key!r}; cells with results: {', '.join(self.data)}")
        return chains_of_round(self.data[key], round)

    def select(self, **settings: Any) -> list[str]:
        """Ids of the cells with these settings, by group or dotted key: `sampler="mala", **{"posterior.c": 0.1}`."""
        return [cell.id for cell in cells_with(self.cells, settings)]

    def __repr__(self) -> str:
        done = sum(status == "done" for status, _ in self.status.values())
        return f"StudyResults({self.name!r}: {len(self.cells)} cells, {done} done)"

    @cached_property
    def arviz_trees(self) -> dict[str, dict[int, xr.DataTree]]:
        """The stored chains by cell and probed round."""
        return {
            cell.id: {t: self.tree(cell, t) for t in rounds}
            for cell in self.done
            if (rounds := self.probed_rounds(cell))
        }

    # Against exact draws

    @cached_property
    def _references(self) -> dict[str, xr.DataTree]:
        return {
            cell.reference_key(): self.data[cell.id]
            for cell in self.done
            if cell.flat.get("sampler") == REFERENCE
        }

    def reference(self, cell: Cell) -> xr.DataTree | None:
        """The exact reference of a cell; a reference is its own."""
        return self._references.get(cell.reference_key()) if "sampler" in cell.flat else None

    @cached_property
    def pairs(self) -> list[Pair]:
        """Every cell that has an exact reference, without the references themselves."""
        return [
            Pair(cell, self.data[cell.id], reference)
            for cell in self.done
            if cell.flat.get("sampler", REFERENCE) != REFERENCE
            and (reference := self.reference(cell)) is not None
        ]

    @cached_property
    def probed_pairs(self) -> list[Pair]:
        """The pairs with diagnostics."""
        return [pair for pair in self.pairs if pair.diagnosed]

    @cached_property
    def regret_gaps(self) -> dict[str, Interval]:
        """Mean paired gap in final regret to exact draws, by cell."""
        return {pair.cell.id: pair.regret_gap for pair in self.pairs}

    # Against any other cell

    @cached_property
    def _final_by_cell(self) -> dict[str, Float[np.ndarray, " runs"]]:
        return {cell.id: self.final(cell) for cell in self.done}

    @cached_property
    def gaps_to_best(self) -> dict[str, tuple[Cell, Interval]]:
        """Of the cells without an exact reference: the best cell under the same random numbers, and the gap to it."""
        without = [cell for cell in self.done if self.reference(cell) is None]
        return gaps_to_best(without, self._final_by_cell)

    @cached_property
    def pairwise(self) -> pd.DataFrame:
        """A row per pair of cells that met the same random numbers: the difference in final regret."""
        return to_frame(pairwise_rows(self.done, self._final_by_cell, self.labels, self.panels))

    # Tables

    @cached_property
    def summary_rows(self) -> list[Row]:
        """The rows of the summary, in the order of the cells."""
        references = {cell.id: tree for cell in self.done if (tree := self.reference(cell)) is not None}
        rows = summary_rows(self.cells, self.data, self.status, self.pairs, references)
        for cell, row in zip(self.cells, rows, strict=True):
            if cell.id in self.gaps_to_best:
                best, gap = self.gaps_to_best[cell.id]
                row |= {"best": self.labels[best.id], "gap_to_best": gap.value}
                row |= {"gap_to_best_low": gap.low, "gap_to_best_high": gap.high}
        return rows

    @cached_property
    def summary(self) -> pd.DataFrame:
        """A row per cell: settings, status, regret, gap to exact draws, cost and quality of the sampler."""
        return to_frame(self.summary_rows).set_index(pd.Index([cell.id for cell in self.cells], name="cell"))

    @cached_property
    def by_round(self) -> pd.DataFrame:
        """A row per cell and probed round: regret around it, its gap to exact draws, diagnostics."""
        return to_frame(by_round_rows(self.probed_pairs, self.labels))

    @cached_property
    def associations(self) -> dict[str, Interval]:
        """Rank correlation of every diagnostic with the regret gap, across cells."""
        return associations(self.probed_pairs)

    @cached_property
    def association_table(self) -> pd.DataFrame:
        """A row per diagnostic and scope: across cells, and within each cell."""
        return to_frame(association_rows(self.probed_pairs, self.labels, self.associations))

    @cached_property
    def costs(self) -> dict[tuple[str, str], Cost]:
        """The least work that comes close to exact regret, by case and sampler."""
        return cheapest(self.pairs)

    @cached_property
    def cost_table(self) -> pd.DataFrame:
        """A row per case and sampler."""
        return to_frame(cost_rows(self.costs))

    # Algorithms compared

    @cached_property
    def tuned_algorithms(self) -> list[TunedAlgorithm]:
        """Every algorithm at its textbook and tuned settings; empty where the study compares none."""
        return tuned_algorithms(self.cells, self.data, self.comparison)

    @cached_property
    def algorithms_by_panel(self) -> dict[str, dict[str, TunedAlgorithm]]:
        """The tuned algorithms by panel and name."""
        panels: dict[str, dict[str, TunedAlgorithm]] = {}
        for algorithm in self.tuned_algorithms:
            panels.setdefault(algorithm.panel, {})[algorithm.name] = algorithm
        return panels

    @cached_property
    def standing_rows(self) -> list[Row]:
        """The rows of the standings."""
        return standing_rows(self.tuned_algorithms, self.data)

    @cached_property
    def standings(self) -> pd.DataFrame:
        """A row per algorithm and level of tuning."""
        return to_frame(self.standing_rows)
