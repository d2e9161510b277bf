"""Runs a study: cells that are stored already are read, the others computed and stored one by one."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import jax
import xarray as xr

from experiments.cells import Cell
from experiments.config import Study
from experiments.figures import draw
from experiments.store import DamagedError, Folder, dataset, default_folder, write_atomically
from experiments.summary import Row, summarise, to_csv
from fgtsva_ppl import simulate
from samplers.settings import InputError

type Progress = Callable[[Cell, int], None]  # a cell, and how many of its rounds are done


@dataclass
class Outcome:
    """What came of a study."""

    folder: Path
    rows: list[Row]
    figures: list[Path] = field(default_factory=list)
    failed: int = 0


def prepare(study: Study) -> Folder:
    """The study's folder. Raises InputError, with nothing written, for any cell that cannot run."""
    by_structure = {jax.tree.structure((cell.environment, cell.agent)): cell for cell in study.cells}
    for cell in by_structure.values():
        cell.check()
    folder = Folder(Path(study.output) if study.output else default_folder(study))
    folder.claim(study)
    return folder


def run(
    study: Study, folder: Folder, progress: Progress | None = None, warn: Callable[[str], None] = print
) -> Outcome:
    """Computes what is missing, then writes tables and figures."""
    data: dict[str, xr.Dataset] = {}
    status: dict[str, str] = {}
    for cell in study.cells:
        stored = _stored(folder, cell, warn)
        if stored is None:
            stored = _computed(folder, cell, progress, status)
        elif progress is not None:
            progress(cell, cell.rounds)
        if stored is not None:
            data[cell.id] = stored
    rows = summarise(study.cells, data, status)
    folder.gather(study, data)
    write_atomically(folder.path / "summary.csv", to_csv(rows))
    figures = folder.path / "figures"
    figures.mkdir(exist_ok=True)
    return Outcome(folder.path, rows, draw(figures, study.cells, data), failed=len(status))


def _stored(folder: Folder, cell: Cell, warn: Callable[[str], None]) -> xr.Dataset | None:
    try:
        return folder.read(cell)
    except DamagedError as damage:
        warn(f"{damage}; computing it again")
        return None


def _computed(
    folder: Folder, cell: Cell, progress: Progress | None, status: dict[str, str]
) -> xr.Dataset | None:
    """Computes and stores a cell; what goes wrong inside is told in its status, and the other cells go on."""
    tell = (lambda done: progress(cell, done)) if progress is not None else None
    try:
        simulation = simulate(
            cell.environment, cell.agent, rounds=cell.rounds, runs=cell.runs, seed=cell.seed, progress=tell
        )
    except (InputError, MemoryError, OSError):
        raise
    except Exception as error:  # a user's program may raise anything
        status[cell.id] = (
            f"failed: {type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}"
        )
        return None
    made = dataset(cell, simulation)
    folder.write(cell, made)
    return made
