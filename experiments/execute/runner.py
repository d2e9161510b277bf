"""Computes the cells of a study and fills its output folder."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import jax

from experiments.config.cell import Cell
from experiments.config.study import Study
from experiments.execute.cell_status import CellStatus
from experiments.execute.job import Job, Progress, no_progress
from experiments.storage.folder import Folder, default_folder
from experiments.storage.locks import POLL_INTERVAL
from fgtsva_ppl.rewards import ZeroDensityError
from samplers.errors import InputError

CHECK_EVERY = 2.0  # seconds between checks of what other processes have finished

# Computes cells elsewhere, stores them, and returns those that failed
type Backend = Callable[[Job, Sequence[Cell]], Mapping[str, CellStatus]]


def prepare(study: Study, warn: Callable[[str], None] = print) -> Folder:
    """Creates the study's folder. Raises InputError, with nothing written, for any cell that cannot run."""
    check(study)
    folder = folder_of(study)
    folder.claim(study, warn)
    return folder


def folder_of(study: Study) -> Folder:
    """The study's output folder, which need not exist."""
    return Folder(Path(study.output) if study.output else default_folder(study))


def check(study: Study) -> None:
    """Raises InputError for any cell that cannot run, and for a folder that is not the study's."""
    folder_of(study).check(study)
    by_structure = {jax.tree.structure((cell.environment, cell.agent)): cell for cell in study.cells}
    zero_densities = []
    for cell in by_structure.values():
        try:
            cell.check()
        except ZeroDensityError as error:  # these cells will fail, the others run
            zero_densities.append(error)
        except InputError:
            raise
        except Exception:  # of a user's program: likewise
            continue
    if len(zero_densities) == len(by_structure):
        raise zero_densities[0]
    if study.devices is not None and study.devices > len(jax.devices()):
        raise InputError(f"devices={study.devices}: this process has {len(jax.devices())}")


def execute(
    study: Study,
    folder: Folder,
    progress: Progress = no_progress,
    warn: Callable[[str], None] = print,
    backend: Backend | None = None,
) -> dict[str, CellStatus]:
    """Computes the cells that are not stored yet, and writes `results.nc` with all of them.

    Cells that another process is computing are left to it, and read when it has finished.

    Args:
        study: The study.
        folder: Its folder, from `prepare`.
        progress: Called with a cell, its simulated rounds and its diagnosed probe rounds.
        warn: Called with a message for anything that the user should know.
        backend: Computes cells elsewhere, stores them, and returns those that failed; None for this process.

    Returns:
        The status of every cell, by cell.

    Raises:
        StoreError: If results cannot be written.
    """
    job = Job(study, folder, progress, warn)
    job.progress = shared = _SharedProgress(job, progress)
    with folder.locks() as locks:
        if backend is not None:
            own = [cell for cell in study.cells if locks.acquire(cell.id)]
            job.status |= backend(job, own)
            for cell in own:
                locks.release(cell.id)
        waiting = [cell for cell in study.cells if cell.id not in job.status]
        while waiting:
            elsewhere = []
            for cell in waiting:
                if locks.acquire(cell.id):
                    job.compute(cell)
                    locks.release(cell.id)
                else:
                    elsewhere.append(cell)
            if len(elsewhere) == len(waiting):
                time.sleep(POLL_INTERVAL)
                shared.check_others()
            waiting = elsewhere
        with locks.held("results"):
            folder.write_results(study, job.data, job.status)
    return job.status


def run_worker(study: Study, folder: Folder) -> None:
    """Computes cells that no other process is computing, from the last to the first, for another process to read."""
    job = Job(study, folder)
    with folder.locks() as locks:
        for cell in reversed(study.cells):
            if not job.is_finished(cell) and locks.acquire(cell.id):
                job.compute(cell)
                locks.release(cell.id)


class _SharedProgress:
    """Reports this process's rounds, and now and then the cells that other processes have finished."""

    def __init__(self, job: Job, report: Progress) -> None:
        self._job, self._report = job, report
        self._others = {cell.id: cell for cell in job.study.cells}
        self._last = 0.0

    def __call__(self, cell: Cell, rounds: int, diagnosed: int) -> None:
        self._others.pop(cell.id, None)
        self._report(cell, rounds, diagnosed)
        self.check_others()

    def check_others(self) -> None:
        """Reports cells that others have finished, if the last check was some time ago."""
        if time.monotonic() - self._last < CHECK_EVERY:
            return
        self._last = time.monotonic()
        for cell in [cell for cell in self._others.values() if self._job.is_finished(cell)]:
            del self._others[cell.id]
            self._report(cell, cell.rounds, len(self._job.study.diagnostics.probes(cell)))
