"""Computes a study on a Dask cluster: tasks are slices of cells' runs, and whole cells are stored in the folder.

A run depends on its seed and number only, so the slices of a cell together are the cell to the last bit. Each slice is
stored when it is finished, and not computed again if this process is interrupted. Workers find members by name: other
packages that a study uses must be installed there.
"""

import dataclasses
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np
import xarray as xr

from experiments.config.cell import Cell
from experiments.config.study import DaskBackend
from experiments.execute.cell_status import CellStatus, status_of_exception
from experiments.execute.diagnose import Groups, diagnose
from experiments.execute.job import SLICES, Job
from experiments.storage.codecs import (
    rounds_to_tree,
    snapshots_to_tree,
    tree_to_simulation,
    tree_to_snapshots,
)
from fgtsva_ppl import Simulation, configure, simulate
from fgtsva_ppl.simulation import Snapshot, state_structure
from fgtsva_ppl.timing import Seconds
from samplers.errors import InputError

# Retries of a task that raises. A task whose worker dies is restarted by the cluster, three times at most.
RETRIES = 2
TIMEOUT = 10.0  # seconds for a scheduler to answer


@contextmanager
def connect(backend: DaskBackend) -> Iterator[Any]:
    """A client of the cluster; without an address, of worker processes on this machine."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise InputError("backend=dask needs more packages: pip install 'fgtsva[distributed]'") from None
    if backend.address is None:
        # No memory limit: a worker that is stopped for its memory is restarted until the cell counts as failed.
        with _no_semaphore_warnings():
            local = LocalCluster(
                n_workers=backend.workers,
                threads_per_worker=1,
                memory_limit=0,
                dashboard_address=None,
                silence_logs=logging.CRITICAL,
            )
        with local, Client(local) as client:
            yield client
        return
    try:
        client = Client(backend.address, timeout=TIMEOUT)
    except (OSError, ValueError) as error:  # a timeout is an OSError
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"backend.address={backend.address} does not answer: {first}") from None
    with client:
        yield client


@contextmanager
def _no_semaphore_warnings() -> Iterator[None]:
    """Silences Python's resource tracker, if it is started here: it removes semaphores of an interrupted process."""
    before = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = ",".join(filter(None, (before, "ignore:resource_tracker:UserWarning")))
    try:
        yield
    finally:
        del os.environ["PYTHONWARNINGS"]
        if before is not None:
            os.environ["PYTHONWARNINGS"] = before


def distribute(job: Job, cells: Sequence[Cell], client: Any, backend: DaskBackend) -> dict[str, CellStatus]:
    """Computes what is missing of some cells on a cluster, and stores it.

    Args:
        job: The study that the cells belong to.
        cells: The cells, each of which this process has locked.
        client: A client of the cluster, from `connect`.
        backend: How cells are divided into tasks.

    Returns:
        The cells that failed after all retries, by cell.
    """
    return _Distribution(job, client, backend).run(cells)


class _Distribution:
    """The tasks of a study that are under way."""

    def __init__(self, job: Job, client: Any, backend: DaskBackend) -> None:
        from distributed import as_completed

        self._job, self._client, self._backend = job, client, backend
        self._futures = as_completed(with_results=False, raise_errors=False)
        self._tasks: dict[str, tuple[Cell, int | None]] = {}  # by future; first run, or None for diagnostics
        self._slices: dict[str, dict[int, Simulation | None]] = {}  # by cell and first run

    def run(self, cells: Sequence[Cell]) -> dict[str, CellStatus]:
        failed: dict[str, CellStatus] = {}
        for cell in cells:
            self._start(cell)
        for future in self._futures:
            cell, first = self._tasks[future.key]
            if cell.id in failed:
                continue
            if future.status != "finished":
                error = future.exception()
                failed[cell.id] = (
                    status_of_exception(error) if error is not None else CellStatus("failed", future.status)
                )
                continue
            if first is None:
                self._job.store_diagnostics(cell, future.result())
                continue
            self._slices[cell.id][first] = part = future.result()
            future.release()
            store_slice(self._job, cell, first, part)
            self._join_if_complete(cell)
        return failed

    def _start(self, cell: Cell) -> None:
        if self._job.stored_rounds(cell) is not None:
            self._submit_diagnostics(cell)
            return
        probes, width = self._job.study.diagnostics.probes(cell), self._backend.runs_per_task
        self._slices[cell.id] = {}
        for first in range(0, cell.runs, width):
            runs = min(width, cell.runs - first)
            self._slices[cell.id][first] = stored = stored_slice(self._job, cell, first, runs, probes)
            if stored is None:
                self._submit(cell, first, simulate_slice, first, runs, probes)
        self._join_if_complete(cell)

    def _submit(self, cell: Cell, first: int | None, function: Callable[..., Any], *arguments: Any) -> None:
        fresh = dataclasses.replace(cell)  # without cached properties
        future = self._client.submit(
            function, fresh, *arguments, devices=self._backend.devices, retries=RETRIES, pure=False
        )
        self._tasks[future.key] = (cell, first)
        self._futures.add(future)

    def _submit_diagnostics(self, cell: Cell) -> None:
        probes = self._job.study.diagnostics.probes(cell)
        if probes and self._job.stored_diagnostics(cell) is None:
            states, runs = self._job.states(cell, probes), self._job.num_diagnosed_runs(cell)
            self._submit(cell, None, diagnose_cell, states, runs)

    def _join_if_complete(self, cell: Cell) -> None:
        parts = [part for part in self._slices[cell.id].values() if part is not None]
        if len(parts) == len(self._slices[cell.id]):
            self._job.store_rounds(cell, concatenate_runs(parts))
            del self._slices[cell.id]
            self._job.progress(cell, cell.rounds, 0)
            self._submit_diagnostics(cell)


def store_slice(job: Job, cell: Cell, first: int, part: Simulation) -> None:
    """Stores some runs of a cell, with their states at the probe rounds."""
    tree = rounds_to_tree(cell, part)
    for name, group in snapshots_to_tree(part.snapshots).children.items():
        tree[f"snapshots/{name}"] = group
    job.folder.write(cell, tree, _slice_kind(first, len(part.regret)))


def stored_slice(job: Job, cell: Cell, first: int, runs: int, probes: Sequence[int]) -> Simulation | None:
    """Some stored runs of a cell; None if they are missing or were stored with other probe rounds."""
    tree = job.stored(cell, _slice_kind(first, runs))
    if tree is None:
        return None
    states = tree.children.get("snapshots", xr.DataTree())
    snapshots = tree_to_snapshots(states, state_structure(cell.environment, cell.agent))
    if [snapshot.round for snapshot in snapshots] != sorted(probes):
        return None
    return tree_to_simulation(tree, snapshots)


def _slice_kind(first: int, runs: int) -> str:
    return SLICES.replace("*", f"{first}-{runs}")


def simulate_slice(
    cell: Cell, first: int, runs: int, probes: Sequence[int], devices: int | None
) -> Simulation:
    """Simulates some runs of a cell, on a worker."""
    configure(precision=cell.precision, devices=devices)
    return simulate(
        cell.environment,
        cell.agent,
        exploration=cell.exploration,
        rounds=cell.rounds,
        runs=runs,
        seed=cell.seed,
        first_run=first,
        record_every=cell.record_every,
        probes=probes,
        devices=jax.devices()[:devices],
    )


def diagnose_cell(cell: Cell, snapshots: Sequence[Snapshot], runs: int, devices: int | None) -> Groups:
    """Computes the diagnostics of a cell, on a worker."""
    configure(precision=cell.precision, devices=devices)
    return diagnose(cell, snapshots, runs, lambda: None, jax.devices()[:devices])


def concatenate_runs(slices: Sequence[Simulation]) -> Simulation:
    """The simulation of all runs, from simulations of consecutive slices of them."""
    record = jax.tree.map(lambda *runs: np.concatenate(runs), *(part.record for part in slices))
    outside_support = np.concatenate([part.outside_support for part in slices])
    snapshots = tuple(
        Snapshot(
            same_round[0].round,
            jax.tree.map(lambda *runs: np.concatenate(runs), *(one.states for one in same_round)),
        )
        for same_round in zip(*(part.snapshots for part in slices), strict=True)
    )
    seconds = Seconds(*map(sum, zip(*(part.seconds for part in slices), strict=True)))
    return Simulation(record, outside_support, seconds, snapshots)
