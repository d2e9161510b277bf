"""What comes of a study once its cells are there: tables, verdicts, a reading, figures, the report."""

import json
from collections.abc import Callable, Mapping
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
from experiments.config.cell import Cell, by_panel, labels_of
from experiments.config.compose import Study
from experiments.execute.cell_status import DONE, Status
from experiments.figures.draw import draw
from experiments.storage.folder import Folder, write_atomically
from experiments.studies.claims import judge


@dataclass
class Outcome:
    """What came of a study."""

    folder: Path
    rows: list[Row]
    standings: list[Row] = field(default_factory=list)  # of algorithms, where a study compares them
    failed: list[str] = field(default_factory=list)  # a line for each cell that did
    judged: bool = False  # whether there are verdicts


def write(
    study: Study,
    folder: Folder,
    data: Mapping[str, xr.DataTree],
    status: Mapping[str, Status],
    warn: Callable[[str], None],
) -> Outcome:
    """Writes everything that follows from the cells."""
    rows = summarise(study.cells, data, status)
    about = (study.name, study.cells, data, study.comparison)
    verdicts = _if_possible(lambda: [verdict.plain() for verdict in judge(*about)], warn)
    reading = _if_possible(lambda: read(*about), warn)
    folder.gather(study, data, {"reading": json.dumps(reading), "verdicts": json.dumps(verdicts)})
    write_atomically(folder.path / "summary.csv", to_csv(rows))
    others = tables(study, data)
    for name, more in others.items():
        write_atomically(folder.path / f"{name}.csv", to_csv(more))
    if verdicts:
        text = page(study.title, verdicts, study.comparison.choices)
        write_atomically(folder.path / "verdicts.md", text.encode())
    drawn = draw(folder.path / "figures", study.cells, data, study.comparison)
    for line in drawn.undrawn:
        warn(f"A figure could not be drawn: {line}")
    report.build(folder.path, drawn)
    labels = labels_of(study.cells)
    failed = [
        f"{labels[cell.id]} on {panel}: {': '.join(status[cell.id])} ({_said(cell)})"
        for panel, cells in by_panel(study.cells).items()
        for cell in cells
        if status[cell.id] != DONE
    ]
    return Outcome(folder.path, rows, others.get("standings", []), failed, bool(verdicts))


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


def tables(study: Study, data: Mapping[str, xr.DataTree]) -> dict[str, list[Row]]:
    """The tables beside the summary, by name; those without rows are left out."""
    found, labels = pairs(study.cells, data), labels_of(study.cells)
    compared = tuned_algorithms(study.cells, data, study.comparison)
    made = {
        "by_round": by_round(found, labels),
        "association": association_rows(found, labels),
        "cost": cost_rows(found),
        "standings": standing_rows(compared, data),
        "scaling": scaling_rows(lines(compared, data)),
    }
    return {name: rows for name, rows in made.items() if rows}
