"""Estimates what a study will take: how many programs are compiled, and roughly how long it runs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax

from experiments.config.cell import Cell
from experiments.config.study import Study

# Seconds on two cores of an ordinary machine, fitted to the times that the studies took.
COMPILE = 5.0  # of a program that simulates
COMPILE_PROBES = 6.0  # of a program that draws for probe rounds
PROBE = 0.02  # of a probed round of a run
ROUND = 1.2e-6  # of a decision with 160 numbers in its action set, without gradients
GRADIENT = 3.0e-7  # of such a round's posterior
STORE = 0.1  # of a cell's files and its share of figures
ACTION_SET = 160.0  # numbers in an action set: 32 arms, 5 dimensions


@dataclass(frozen=True)
class Estimate:
    """What a study will take.

    Attributes:
        cells: The number of its cells.
        stored: How many of them are stored already.
        programs: How many programs are compiled.
        decisions: How many decisions are simulated, over all cells, runs and rounds.
        seconds: Roughly how long it takes.
    """

    cells: int
    stored: int
    programs: int
    decisions: int
    seconds: float


def estimate(study: Study, is_finished: Callable[[Cell], bool]) -> Estimate:
    """Counts exactly, and estimates the time.

    Args:
        study: The study.
        is_finished: Whether a cell is stored already.
    """
    todo = [cell for cell in study.cells if not is_finished(cell)]
    programs = {_program(cell): cell for cell in todo}
    seconds = sum(_simulation_seconds(cell) + STORE for cell in todo)
    probes = sum(
        len(study.diagnostics.probes(cell)) * min(study.diagnostics.runs, cell.runs) for cell in todo
    )
    seconds += PROBE * probes
    seconds += sum(
        COMPILE + COMPILE_PROBES * bool(study.diagnostics.probes(cell)) for cell in programs.values()
    )
    decisions = sum(cell.rounds * cell.runs for cell in todo)
    return Estimate(len(study.cells), len(study.cells) - len(todo), len(programs), decisions, seconds)


def _program(cell: Cell) -> Any:
    """A key that cells have in common if they share a compiled program."""
    return jax.tree.structure((cell.environment, cell.agent)), cell.rounds


def _simulation_seconds(cell: Cell) -> float:
    shape, gradients = cell.environment.shape, cell.agent.expected_gradients
    size = max(1.0, shape.arms * shape.dim / ACTION_SET) ** 0.5  # arms are evaluated together
    return cell.rounds * cell.runs * size * (ROUND + GRADIENT * gradients)
