"""Runs a study: cells that are stored already are read, the others computed and stored one by one."""

import hashlib
import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import jax
import xarray as xr

from experiments.analysis.analyse import Analysis, analyse
from experiments.config.cell import Cell
from experiments.config.compose import Study
from experiments.execute.cell_status import Status, judged, raised
from experiments.execute.diagnose import Groups, diagnose
from experiments.storage.errors import DamagedError, StoreError
from experiments.storage.folder import (
    Folder,
    default_folder,
    halfway,
    halfway_tree,
    rounds_tree,
    snapshots,
    states_tree,
)
from experiments.storage.locks import PATIENCE
from fgtsva_ppl import Simulation, simulate
from fgtsva_ppl.rewards.program import ZeroDensityError
from fgtsva_ppl.simulation.loop import CheckpointState, Snapshot, state_structure
from samplers.settings import InputError

SAVE_EVERY = 20.0  # seconds of a cell that an interruption may cost
LOOK_EVERY = 2.0  # seconds between looks at what other processes have finished
UNFINISHED = "unfinished"
SLICES = "slice-*"  # some runs of a cell, where they are computed elsewhere

type Progress = Callable[
    [Cell, int, int], None
]  # a cell, how many of its rounds are done, how many are diagnosed


type Launch = Callable[["Job", Sequence[Cell]], Mapping[str, Status]]


def _quiet(cell: Cell, done: int, diagnosed: int) -> None:
    pass


def prepare(study: Study, warn: Callable[[str], None] = print) -> Folder:
    """The study's folder, claimed. Raises InputError, with nothing written, for any cell that cannot run."""
    check(study)
    folder = folder_of(study)
    folder.claim(study, warn)
    return folder


def folder_of(study: Study) -> Folder:
    """Where the study goes."""
    return Folder(Path(study.output) if study.output else default_folder(study))


def check(study: Study) -> None:
    """Raises InputError for any cell that cannot run, and for a folder that is not the study's."""
    folder_of(study).check(study)
    by_structure = {jax.tree.structure((cell.environment, cell.agent)): cell for cell in study.cells}
    impossible = []
    for cell in by_structure.values():
        try:
            cell.check()
        except ZeroDensityError as error:  # its cells will tell it, and the others run
            impossible.append(error)
        except InputError:
            raise
        except Exception:  # of a user's program: likewise
            continue
    if len(impossible) == len(by_structure):
        raise impossible[0]
    if study.devices is not None and study.devices > len(jax.devices()):
        raise InputError(f"devices={study.devices}: this process has {len(jax.devices())}")


def run(
    study: Study,
    folder: Folder,
    progress: Progress = _quiet,
    warn: Callable[[str], None] = print,
    launch: Launch | None = None,
) -> Analysis:
    """Computes what is missing, then writes tables and figures.

    Cells that another process is at are left to it, and read when it is done with them. `launch` has cells computed
    elsewhere and stored, and gives those that failed.
    """
    job = Job(study, folder, progress, warn)
    job.progress = _Everyone(job, progress)
    with folder.locks() as locks:
        if launch is not None:
            ours = [cell for cell in study.cells if locks.acquire(cell.id)]
            job.status |= launch(job, ours)
            for cell in ours:
                locks.release(cell.id)
        waiting = [cell for cell in study.cells if cell.id not in job.status]
        while waiting:
            elsewhere = []
            for cell in waiting:
                if locks.acquire(cell.id):
                    job.do(cell)
                    locks.release(cell.id)
                else:
                    elsewhere.append(cell)
            if len(elsewhere) == len(waiting):
                time.sleep(PATIENCE)
                job.progress.look()
            waiting = elsewhere
        with locks.held("results"), folder.writing():
            folder.gather(study, job.data, job.status)
            return analyse(folder.path, warn)


def assist(study: Study, folder: Folder) -> None:
    """Computes cells that nobody is at, from the last to the first, for another process to read."""
    job = Job(study, folder)
    with folder.locks() as locks:
        for cell in reversed(study.cells):
            if not job.finished(cell) and locks.acquire(cell.id):
                job.do(cell)
                locks.release(cell.id)


@dataclass
class Job:
    """A study under way."""

    study: Study
    folder: Folder
    progress: Progress = _quiet
    warn: Callable[[str], None] = lambda _: None
    data: dict[str, xr.DataTree] = field(default_factory=dict)
    status: dict[str, Status] = field(default_factory=dict)

    @property
    def devices(self) -> list[jax.Device]:
        """Those that this process computes on."""
        return jax.devices()[: self.study.devices]

    def finished(self, cell: Cell) -> bool:
        """Whether everything of a cell is stored, as far as names tell."""
        kinds = ["", "states", self._diagnosis(cell)] if self.study.diagnostics.probes(cell) else [""]
        return all(self.folder.holds(cell, kind) for kind in kinds)

    def do(self, cell: Cell) -> None:
        """Reads or computes a cell; what goes wrong inside is told in its status, and the other cells go on."""
        try:
            rounds = self._rounds(cell)
            self.status[cell.id] = judged(rounds)
            if self.status[cell.id].word == "failed":
                return
            self.data[cell.id] = rounds
            for path, group in self._diagnostics(cell).items():
                rounds[path] = xr.DataTree(group)
        except StoreError:
            raise
        except Exception as error:  # a user's program may raise anything
            self.status[cell.id] = raised(error)
            with suppress(Exception):  # or JAX would raise it once more at the end of the process
                jax.effects_barrier()

    def _rounds(self, cell: Cell) -> xr.DataTree:
        stored = self.stored_rounds(cell)
        if stored is not None:
            self.progress(cell, cell.rounds, 0)
            return stored
        probes = self.study.diagnostics.probes(cell)
        simulation = simulate(
            cell.environment,
            cell.agent,
            rounds=cell.rounds,
            runs=cell.runs,
            seed=cell.seed,
            every=cell.every,
            probes=probes,
            progress=lambda done: self.progress(cell, done, 0),
            devices=self.devices,
            checkpoint=Unfinished(self, cell, probes),
        )
        return self.keep_rounds(cell, simulation)

    def stored_rounds(self, cell: Cell) -> xr.DataTree | None:
        """A cell's rounds, if the states that are to be looked into are there as well."""
        stored, probes = self.stored(cell), self.study.diagnostics.probes(cell)
        return stored if stored is not None and (not probes or self.states(cell, probes)) else None

    def keep_rounds(self, cell: Cell, simulation: Simulation) -> xr.DataTree:
        """Stores what was played."""
        made = rounds_tree(cell, simulation)
        if simulation.snapshots:
            self.folder.write(cell, states_tree(simulation.snapshots), "states")
        self.folder.write(cell, made)
        for kind in (UNFINISHED, SLICES):
            self.folder.remove(cell, kind)
        return made

    def states(self, cell: Cell, probes: Sequence[int]) -> list[Snapshot]:
        """The states that a run kept before the rounds that are wanted; nothing if one of them is missing."""
        stored = self.stored(cell, "states")
        if stored is None:
            return []
        kept = snapshots(stored, state_structure(cell.environment, cell.agent))
        wanted = [snapshot for snapshot in kept if snapshot.round in probes]
        return wanted if len(wanted) == len(probes) else []

    def _diagnostics(self, cell: Cell) -> Groups:
        probes = self.study.diagnostics.probes(cell)
        if not probes:
            return {}
        stored = self.stored_diagnostics(cell)
        if stored is None:
            done = itertools.count(1)
            groups = diagnose(
                cell,
                self.states(cell, probes),
                self.diagnosed_runs(cell),
                lambda: self.progress(cell, cell.rounds, next(done)),
                self.devices,
            )
            stored = self.keep_diagnostics(cell, groups)
        if refused := stored["diagnostics"].attrs["refused"]:
            self.warn(f"{cell.name}: {refused}")
        self.progress(cell, cell.rounds, len(probes))
        return {node.path.lstrip("/"): node.to_dataset() for node in stored.subtree if node.data_vars}

    def diagnosed_runs(self, cell: Cell) -> int:
        """How many of a cell's runs are looked into."""
        return min(self.study.diagnostics.runs, cell.runs)

    def stored_diagnostics(self, cell: Cell) -> xr.DataTree | None:
        """What was found out about a cell's sampler."""
        return self.stored(cell, self._diagnosis(cell))

    def keep_diagnostics(self, cell: Cell, groups: Groups) -> xr.DataTree:
        """Stores what was found out."""
        made = xr.DataTree.from_dict(groups)
        self.folder.write(cell, made, self._diagnosis(cell))
        return made

    def _diagnosis(self, cell: Cell) -> str:
        asked = (self.study.diagnostics.probes(cell), self.diagnosed_runs(cell))
        return f"diagnostics-{hashlib.sha256(repr(asked).encode()).hexdigest()[:8]}"

    def stored(self, cell: Cell, kind: str = "") -> xr.DataTree | None:
        """A piece of a cell that an earlier run left whole."""
        try:
            return self.folder.read(cell, kind)
        except DamagedError as damage:
            self.warn(f"{damage}; computing it again")
            return None


class _Everyone:
    """Tells of this process's rounds, and now and then of the cells that others have finished."""

    def __init__(self, job: Job, tell: Progress) -> None:
        self._job, self._tell = job, tell
        self._others = {cell.id: cell for cell in job.study.cells}
        self._last = 0.0

    def __call__(self, cell: Cell, done: int, diagnosed: int) -> None:
        self._others.pop(cell.id, None)
        self._tell(cell, done, diagnosed)
        self.look()

    def look(self) -> None:
        """Looks for what others have finished, if the last time was a while ago."""
        if time.monotonic() - self._last < LOOK_EVERY:
            return
        self._last = time.monotonic()
        for cell in [cell for cell in self._others.values() if self._job.finished(cell)]:
            del self._others[cell.id]
            self._tell(cell, cell.rounds, len(self._job.study.diagnostics.probes(cell)))


class Unfinished:
    """What an interrupted run left of a cell, and leaves of it now and then."""

    def __init__(self, job: Job, cell: Cell, probes: Sequence[int]) -> None:
        self._job, self._cell = job, cell
        self._probes = ",".join(map(str, probes))
        self._last = time.monotonic()

    def load(self) -> CheckpointState | None:
        """What was left, if it was kept for the same probe rounds."""
        stored = self._job.stored(self._cell, UNFINISHED)
        if stored is None or stored.attrs["probes"] != self._probes:
            return None
        left = halfway(stored, state_structure(self._cell.environment, self._cell.agent))
        self._job.progress(self._cell, left.rounds, 0)
        return left

    def save(self, reached: Callable[[], CheckpointState]) -> None:
        """Keeps it if the last time was a while ago."""
        if time.monotonic() - self._last < SAVE_EVERY:
            return
        tree = halfway_tree(reached())
        tree.attrs["probes"] = self._probes
        self._job.folder.write(self._cell, tree, UNFINISHED)
        self._last = time.monotonic()
