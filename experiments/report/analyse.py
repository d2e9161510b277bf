"""Analyses a study's output folder: tables, verdicts, figures and the report, all from its stored cells."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from experiments import studies
from experiments.analysis.load import load_results
from experiments.analysis.results import DONE, StudyResults
from experiments.analysis.summary import Row, to_csv
from experiments.analysis.verdicts import to_markdown
from experiments.config.cell import Cell
from experiments.config.labels import by_panel
from experiments.config.text import override_text
from experiments.figures.draw import draw
from experiments.report.page import Content, render
from experiments.storage.errors import StoreError
from experiments.storage.files import remove_partial_files, write_atomically
from samplers.errors import InputError


@dataclass
class Analysis:
    """What the command line prints about an analysed study."""

    folder: Path
    rows: list[Row]  # of the summary
    standings: list[Row] = field(default_factory=list)  # of algorithms, where a study compares them
    failures: list[str] = field(default_factory=list)  # a line for each cell that failed or diverged
    has_verdicts: bool = False


def analyse(folder: Path | str, warn: Callable[[str], None] = print) -> Analysis:
    """Writes everything that follows from the stored cells of a study.

    Reads `config.yaml` and `results.nc` alone. Writes `summary.csv`; where there is something to put into them,
    `association.csv`, `by_round.csv`, `cost.csv`, `standings.csv`, `pairwise.csv`, the study's own tables and
    `verdicts.md`; the figures; and `report.html`.

    Args:
        folder: the output folder of a run.
        warn: takes a line for each part that could not be written.

    Raises:
        InputError: the folder cannot be read, or holds results that cannot be analysed.
        StoreError: a file cannot be written.
    """
    folder = Path(folder)
    results = load_results(folder)
    try:
        return _write(results, folder, warn)
    except OSError as error:
        raise StoreError(folder, error) from error
    except InputError:
        raise
    except Exception as error:  # a stranger's folder may hold anything under our names
        why = f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}"
        raise InputError(f"{folder} holds results that cannot be analysed ({why})") from error


def _write(results: StudyResults, folder: Path, warn: Callable[[str], None]) -> Analysis:
    for place in (folder, folder / "figures"):
        remove_partial_files(place)
    verdicts = _if_possible(lambda: studies.verdicts(results), warn)
    findings = _if_possible(lambda: studies.findings(results), warn)
    own = studies.tables(results)
    for name, table in (tables(results) | {name: one.frame for name, one in own.items()}).items():
        write_atomically(folder / f"{name}.csv", to_csv(table))
    if verdicts:
        text = to_markdown(results.title, verdicts, results.comparison.choices)
        write_atomically(folder / "verdicts.md", text.encode())
    figures = draw(folder / "figures", studies.figures(results))
    for line in figures.failures:
        warn(f"A figure could not be drawn: {line}")
    page = render(Content(results, findings, verdicts, own, figures))
    write_atomically(folder / "report.html", page.encode())
    return Analysis(folder, results.summary_rows, results.standing_rows, failures(results), bool(verdicts))


def tables(results: StudyResults) -> dict[str, pd.DataFrame]:
    """The tables of any study, by the name of their CSV file; those without rows are left out, but for the summary."""
    others = {
        "by_round": results.by_round,
        "association": results.association_table,
        "cost": results.cost_table,
        "standings": results.standings,
        "pairwise": results.pairwise,
    }
    return {
        "summary": results.summary.reset_index(),
        **{name: table for name, table in others.items() if len(table)},
    }


def failures(results: StudyResults) -> list[str]:
    """A line for each cell that failed or diverged: its label, the reason, and its settings."""
    return [
        f"{results.labels[cell.id]} on {panel}: {': '.join(results.status[cell.id])} ({_settings(cell)})"
        for panel, cells in by_panel(results.cells).items()
        for cell in cells
        if results.status[cell.id] != DONE
    ]


def _settings(cell: Cell) -> str:
    return " ".join(f"{key}={override_text(value)}" for key, value in cell.flat.items())


def _if_possible[T](derive: Callable[[], list[T]], warn: Callable[[str], None]) -> list[T]:
    """Findings or claims of a study; none, with a warning, where overrides left too few cells for them."""
    try:
        return derive()
    except Exception as error:  # an error here must not lose results
        warn(
            f"These settings leave too little of the study for its findings ({type(error).__name__}: {error})"
        )
        return []
