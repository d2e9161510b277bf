"""Studies: a question, the cells that answer it, and how they are computed."""

from dataclasses import dataclass

import numpy as np

from experiments.config.cell import Cell
from experiments.config.comparison import Comparison

NUM_PROBES = 12  # log-spaced rounds that are probed by default


@dataclass(frozen=True)
class Diagnostics:
    """Which rounds of how many runs are probed. In cells with fewer rounds or runs, those that exist.

    Attributes:
        rounds: The probed rounds, counted from 1; None for log-spaced ones.
        runs: The number of probed runs; 0 for no diagnostics.
    """

    rounds: tuple[int, ...] | None
    runs: int

    def probes(self, cell: Cell) -> tuple[int, ...]:
        """The rounds of a cell that are probed; none if its agent has no sampler."""
        if not self.runs or "sampler" not in cell.parts:
            return ()
        if self.rounds is not None:
            return tuple(t for t in self.rounds if t <= cell.rounds)
        return tuple(sorted({round(float(t)) for t in np.geomspace(1, cell.rounds, NUM_PROBES)}))


@dataclass(frozen=True)
class DaskBackend:
    """A Dask cluster, and how a study is divided into its tasks.

    Attributes:
        address: The scheduler's address; None for worker processes on this machine.
        workers: The number of worker processes on this machine.
        runs_per_task: Runs of a cell that a worker computes together.
        devices: JAX devices of a worker; None for all it has.
    """

    address: str | None
    workers: int
    runs_per_task: int
    devices: int | None


@dataclass(frozen=True)
class Study:
    """A question, and the cells that answer it.

    Attributes:
        name: The name of the study's folder in `experiments/studies`.
        title: The title of the report.
        question: The question that the report answers.
        cells: The cells, all different.
        output: The output folder; None for one that is named after the settings.
        precision: "float64" or "float32".
        diagnostics: Which rounds are probed.
        comparison: How figures and tables compare the cells.
        devices: JAX devices to use; None for all there are.
        backend: The Dask cluster that computes the cells; None for this machine.
        processes: Processes on this machine; None to choose by the expected time.
        command: The command line, without the output folder.
        left_out: Environments of the study's file whose data are not installed.
    """

    name: str
    title: str
    question: str
    cells: tuple[Cell, ...]
    output: str | None
    precision: str
    diagnostics: Diagnostics
    comparison: Comparison
    devices: int | None = None
    backend: DaskBackend | None = None
    processes: int | None = None
    command: str = ""
    left_out: tuple[str, ...] = ()

    def notes(self) -> list[str]:
        """What is to be said of the environments' data, and of the settings that they recommend. Loads the data."""
        lines = []
        for cell in {cell.flat["environment"]: cell for cell in reversed(self.cells)}.values():
            environment = cell.environment
            if environment.description:
                used = [
                    f"{key}={cell.flat[key]}"
                    for key, value in environment.recommended.items()
                    if cell.flat.get(key) == value
                ]
                chosen = f"; recommended for these: {' '.join(used)}" if used else ""
                lines.append(f"{cell.flat['environment']}: {environment.description}{chosen}")
        if self.left_out:
            lines.append(
                f"Left out, as the data are not installed: {', '.join(self.left_out)} (environment=NAME says how)"
            )
        return lines
