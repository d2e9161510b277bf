"""What a study would do, before it does it: how many cells and programs, and roughly how long."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
from rich.console import Console
from rich.table import Table

from experiments.analysis.text import counted
from experiments.config.cell import Cell, by_panel, labels_of
from experiments.config.compose import Study
from experiments.storage.folder import Folder

# Seconds on two cores of an ordinary machine, from the minutes that the studies took.
COMPILING = 5.0  # a program
PROBING = 6.0  # a program that looks into rounds
PROBE = 0.02  # a round of a run that is looked into
ROUND = 1.2e-6  # a decision with 160 numbers in its action set, apart from gradients
GRADIENT = 3.0e-7  # of such a round's posterior
WRITING = 0.1  # a cell's files and its share of figures
LISTED = 8  # cells of an environment, by name
USUAL = 160.0  # numbers in an action set: 32 arms, 5 dimensions


@dataclass(frozen=True)
class Estimate:
    """What a study would do."""

    cells: int
    stored: int
    programs: int
    decisions: int
    seconds: float


def estimate(study: Study, finished: Callable[[Cell], bool]) -> Estimate:
    """Counts exactly, and guesses the time."""
    todo = [cell for cell in study.cells if not finished(cell)]
    programs = {_program(cell): cell for cell in todo}
    seconds = sum(_playing(cell) + WRITING for cell in todo)
    looks = sum(len(study.diagnostics.probes(cell)) * min(study.diagnostics.runs, cell.runs) for cell in todo)
    seconds += PROBE * looks
    seconds += sum(COMPILING + PROBING * bool(study.diagnostics.probes(cell)) for cell in programs.values())
    decisions = sum(cell.rounds * cell.runs for cell in todo)
    return Estimate(len(study.cells), len(study.cells) - len(todo), len(programs), decisions, seconds)


def _program(cell: Cell) -> Any:
    """Cells with the same one share a compiled program."""
    return jax.tree.structure((cell.environment, cell.agent)), cell.rounds


def _playing(cell: Cell) -> float:
    shape, sampler = cell.environment.shape, getattr(cell.agent, "sampler", None)
    spent = sampler.expected_gradients if sampler is not None else 0
    size = max(1.0, shape.arms * shape.dim / USUAL) ** 0.5  # many arms are looked at together
    return cell.rounds * cell.runs * size * (ROUND + GRADIENT * spent)


def told(seconds: float) -> str:
    """A time as a person says it."""
    if seconds < 90:
        return f"{max(1, round(seconds / 10)) * 10} seconds"
    return f"{round(seconds / 60)} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def show(console: Console, study: Study, found: Estimate, folder: Folder) -> None:
    """What the cells of a study differ in, their number, and how long they would take."""
    made = Table(box=None, pad_edge=False, show_header=False)
    for key in dict.fromkeys(key for cell in study.cells for key in cell.flat):
        values = list(dict.fromkeys(str(cell.flat[key]) for cell in study.cells if key in cell.flat))
        if len(values) > 1:
            made.add_row(key, ", ".join(values))
    console.print(made)
    labels = labels_of(study.cells)
    for panel, cells in by_panel(study.cells).items():
        # The last one is shown rather than counted.
        shown = len(cells) if len(cells) == LISTED + 1 else LISTED
        for cell in cells[:shown]:
            console.print(f"  {panel}: {labels[cell.id]}", soft_wrap=True, markup=False, highlight=False)
        if len(cells) > shown:
            console.print(f"  {panel}: and {len(cells) - shown} more")
    rest = f", {found.stored} of them stored already" if found.stored else ""
    console.print(
        f"{counted(found.cells, 'cell')}{rest}; {counted(found.programs, 'program')} to compile, "
        f"{found.decisions:,} decisions"
    )
    console.print(f"Roughly {told(found.seconds)} on two cores, if nothing was compiled before")
    console.print(f"Output: {folder.path}", soft_wrap=True, markup=False)
