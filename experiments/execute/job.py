"""Computes single cells of a study and stores their data; what is stored already is read."""

import hashlib
import itertools
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import jax
import xarray as xr

from experiments.config.cell import Cell
from experiments.config.study import Study
from experiments.execute.cell_status import CellStatus, status_of_exception, status_of_rounds
from experiments.execute.checkpoint_file import UNFINISHED, CheckpointFile
from experiments.execute.diagnose import Groups, diagnose
from experiments.execute.monitor import Monitor, is_control, num_transitions
from experiments.storage.codecs import rounds_to_tree, snapshots_to_tree, tree_to_snapshots
from experiments.storage.errors import DamagedError, StoreError
from experiments.storage.folder import Folder
from fgtsva_ppl import Simulation, simulate
from fgtsva_ppl.jax_config import release_programs
from fgtsva_ppl.simulation import Snapshot, state_structure

SLICES = "slice-*"  # the kind of data under which Dask tasks store some runs of a cell

# Called with a cell, the number of its simulated rounds, and the number of its diagnosed probe rounds
type Progress = Callable[[Cell, int, int], None]


def no_progress(cell: Cell, rounds: int, diagnosed: int) -> None:
    """Shows nothing."""


@dataclass
class Job:
    """The cells of a study that are being computed.

    Attributes:
        study: The study.
        folder: Its output folder.
        progress: Called as cells advance.
        warn: Called with a message for anything that the user should know.
        data: Rounds and diagnostics of the cells computed or read so far, by cell; none for failed cells.
        status: Status of the same cells and of failed ones, by cell.
    """

    study: Study
    folder: Folder
    progress: Progress = no_progress
    warn: Callable[[str], None] = lambda _: None
    data: dict[str, xr.DataTree] = field(default_factory=dict)
    status: dict[str, CellStatus] = field(default_factory=dict)

    @property
    def devices(self) -> list[jax.Device]:
        """The devices that this process computes on."""
        return jax.devices()[: self.study.devices]

    def is_finished(self, cell: Cell) -> bool:
        """Whether all data of a cell are stored, by the names of its files."""
        probes = self.study.diagnostics.probes(cell)
        kinds = ["", "states", self._diagnostics_kind(cell)] if probes else [""]
        return all(self.folder.holds(cell, kind) for kind in kinds)

    def compute(self, cell: Cell) -> None:
        """Reads or computes a cell. An error inside becomes the cell's status, so that other cells can go on."""
        try:
            rounds = self._rounds(cell)
            self.status[cell.id] = status_of_rounds(
                rounds, num_transitions=num_transitions(cell), is_control=is_control(cell)
            )
            if self.status[cell.id].status == "failed":
                return
            self.data[cell.id] = rounds
            for path, group in self._diagnostics(cell).items():
                rounds[path] = xr.DataTree(group)
        except StoreError:
            raise
        except Exception as error:  # a user's program may raise anything
            self.status[cell.id] = status_of_exception(error)
            self.data.pop(cell.id, None)
            with suppress(Exception):  # else JAX raises it again when the process ends
                jax.effects_barrier()
        finally:
            release_programs()

    def _rounds(self, cell: Cell) -> xr.DataTree:
        stored = self.stored_rounds(cell)
        if stored is not None:
            self.progress(cell, cell.rounds, 0)
            return stored
        probes = self.study.diagnostics.probes(cell)
        simulation = simulate(
            cell.environment,
            cell.agent,
            exploration=cell.exploration,
            rounds=cell.rounds,
            runs=cell.runs,
            seed=cell.seed,
            record_every=cell.record_every,
            probes=probes,
            progress=lambda done: self.progress(cell, done, 0),
            monitor=Monitor(cell, self.warn),
            devices=self.devices,
            checkpoint=CheckpointFile(
                self.folder, cell, probes, lambda done: self.progress(cell, done, 0), self.warn
            ),
        )
        return self.store_rounds(cell, simulation)

    def stored_rounds(self, cell: Cell) -> xr.DataTree | None:
        """The stored rounds of a cell; None if they, or states at a probe round, are missing."""
        stored, probes = self.stored(cell), self.study.diagnostics.probes(cell)
        return stored if stored is not None and (not probes or self.states(cell, probes)) else None

    def store_rounds(self, cell: Cell, simulation: Simulation) -> xr.DataTree:
        """Stores a simulation, and removes what was stored of it while it was unfinished."""
        tree = rounds_to_tree(cell, simulation)
        if simulation.snapshots:
            self.folder.write(cell, snapshots_to_tree(simulation.snapshots), "states")
        self.folder.write(cell, tree)
        for kind in (UNFINISHED, SLICES):
            self.folder.remove(cell, kind)
        return tree

    def states(self, cell: Cell, probes: Sequence[int]) -> list[Snapshot]:
        """The stored states before the probe rounds; none if one of them is missing."""
        stored = self.stored(cell, "states")
        if stored is None:
            return []
        snapshots = tree_to_snapshots(stored, state_structure(cell.environment, cell.agent))
        probed = [snapshot for snapshot in snapshots if snapshot.round in probes]
        return probed if len(probed) == len(probes) else []

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
                self.num_diagnosed_runs(cell),
                lambda: self.progress(cell, cell.rounds, next(done)),
                self.devices,
            )
            stored = self.store_diagnostics(cell, groups)
        if rejections := stored["diagnostics"].attrs["rejections"]:
            self.warn(f"{cell.name}: {rejections}")
        self.progress(cell, cell.rounds, len(probes))
        return {node.path.lstrip("/"): node.to_dataset() for node in stored.subtree if node.data_vars}

    def num_diagnosed_runs(self, cell: Cell) -> int:
        """The number of a cell's runs that are probed."""
        return min(self.study.diagnostics.runs, cell.runs)

    def stored_diagnostics(self, cell: Cell) -> xr.DataTree | None:
        """The stored diagnostics of a cell."""
        return self.stored(cell, self._diagnostics_kind(cell))

    def store_diagnostics(self, cell: Cell, groups: Groups) -> xr.DataTree:
        """Stores the diagnostics of a cell."""
        tree = xr.DataTree.from_dict(groups)
        self.folder.write(cell, tree, self._diagnostics_kind(cell))
        return tree

    def _diagnostics_kind(self, cell: Cell) -> str:
        """Diagnostics at other rounds, or of another number of runs, have another file."""
        probed = (self.study.diagnostics.probes(cell), self.num_diagnosed_runs(cell))
        return f"diagnostics-{hashlib.sha256(repr(probed).encode()).hexdigest()[:8]}"

    def stored(self, cell: Cell, kind: str = "") -> xr.DataTree | None:
        """Stored data of a cell; None, with a warning, if the file is damaged."""
        try:
            return self.folder.read(cell, kind)
        except DamagedError as damage:
            self.warn(f"{damage}; computing it again")
            return None
