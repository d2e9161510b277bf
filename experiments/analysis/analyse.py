"""What comes of a study once its cells are there: tables, verdicts, a reading, figures, the report."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import xarray as xr

from experiments import report
from experiments.analysis.diagnostics_vs_regret import association_rows, by_round, cost_rows, pairs
from experiments.analysis.findings import read
from experiments.analysis.hyperparameters import standing_rows, tuned_algorithms
from experiments.analysis.scaling import lines, scaling_rows
from experiments.analysis.summary import Row, summarise, to_csv
from experiments.analysis.verdicts import page
from experiments.config.cell import Cell
from experiments.config.comparison import Comparison
from experiments.config.labels import by_panel, labels_of
from experiments.figures.draw import draw
from experiments.report import load
from experiments.storage.files import read_tree, write_atomically, write_tree
from experiments.studies.claims import judge


@dataclass
class Analysis:
    """What `fgtsva run` prints."""

    folder: Path
    rows: list[Row]
    standings: list[Row] = field(default_factory=list)  # of algorithms, where a study compares them
    failures: list[str] = field(default_factory=list)  # a line for each cell that is not done
    has_verdicts: bool = False


def analyse(folder: Path, warn: Callable[[str], None]) -> Analysis:
    """Writes tables, verdicts, figures and the report of an output folder, from its stored results alone."""
    stored = load.read(folder, summarised=False)
    data, cells, comparison = stored.data(), stored.cells, stored.comparison
    rows = summarise(cells, data, stored.status)
    about = (str(stored.config["study"]), cells, data, comparison)
    verdicts = _if_possible(lambda: [verdict.plain() for verdict in judge(*about)], warn)
    reading = _if_possible(lambda: read(*about), warn)
    tree = read_tree(folder / "results.nc")
    tree.attrs |= {"reading": json.dumps(reading), "verdicts": json.dumps(verdicts)}
    write_tree(folder / "results.nc", tree)
    write_atomically(folder / "summary.csv", to_csv(rows))
    others = tables(cells, data, comparison)
    for name, more in others.items():
        write_atomically(folder / f"{name}.csv", to_csv(more))
    if verdicts:
        text = page(str(stored.config["title"]), verdicts, comparison.choices)
        write_atomically(folder / "verdicts.md", text.encode())
    drawn = draw(folder / "figures", cells, data, comparison)
    for line in drawn.undrawn:
        warn(f"A figure could not be drawn: {line}")
    report.build(folder, drawn)
    labels = labels_of(cells)
    failures = [
        f"{labels[cell.id]} on {panel}: {': '.join(stored.status[cell.id])} ({_said(cell)})"
        for panel, members in by_panel(cells).items()
        for cell in members
        if stored.status[cell.id][0] != "done"
    ]
    return Analysis(folder, rows, others.get("standings", []), failures, bool(verdicts))


def _said(cell: Cell) -> str:
    return " ".join(f"{key}={'null' if value is None else value}" for key, value in cell.flat.items())


def _if_possible[T](say: Callable[[], list[T]], warn: Callable[[str], None]) -> list[T]:
    """What a study says of its own grid, of which other settings may have left too little."""
    try:
        return say()
    except Exception as error:  # and no result may be lost for it
        warn(
            f"These settings leave too little of the study to be read as such ({type(error).__name__}: {error})"
        )
        return []


def tables(
    cells: Sequence[Cell], data: Mapping[str, xr.DataTree], comparison: Comparison
) -> dict[str, list[Row]]:
    """The tables beside the summary, by name; those without rows are left out."""
    found, labels = pairs(cells, data), labels_of(cells)
    compared = tuned_algorithms(cells, data, comparison)
    made = {
        "by_round": by_round(found, labels),
        "association": association_rows(found, labels),
        "cost": cost_rows(found),
        "standings": standing_rows(compared, data),
        "scaling": scaling_rows(lines(compared, data)),
    }
    return {name: rows for name, rows in made.items() if rows}
