"""A study on a Dask cluster: slices of cells' runs go to the workers, whole cells come back into the folder.

A run depends on its seed and number alone, so slices that are put together are the cell to the bit. Each is stored when
it comes back, and not computed again if this process is interrupted. Workers know parts by name: what a study uses must
be installed where they run.
"""

import dataclasses
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np
import xarray as xr

from experiments.config.cell import Cell
from experiments.config.compose import Launcher
from experiments.execute.cell_status import Status, raised
from experiments.execute.diagnose import Groups, diagnose
from experiments.execute.runner import SLICES, Job
from experiments.storage.folder import rounds_tree, snapshots, states_tree, values
from fgtsva_ppl import Simulation, configure, simulate
from fgtsva_ppl.simulation import Record, Snapshot, state_structure
from fgtsva_ppl.timing import Seconds
from samplers.errors import InputError

RETRIES = (
    2  # of a piece that raises; one whose worker dies is begun again by the cluster, three times at most
)
PATIENCE = 10.0  # seconds for a scheduler to answer


@contextmanager
def cluster(launcher: Launcher) -> Iterator[Any]:
    """A client of the cluster that is asked for; of one on this machine if no address is given."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise InputError("launcher=dask needs more packages: pip install 'fgtsva[distributed]'") from None
    if launcher.address is None:
        # No memory limit: a worker that is stopped for its memory is begun again until the cell counts as failed.
        with _without_a_word_of_semaphores():
            local = LocalCluster(
                n_workers=launcher.workers,
                threads_per_worker=1,
                memory_limit=0,
                dashboard_address=None,
                silence_logs=logging.CRITICAL,
            )
        with local, Client(local) as client:
            yield client
        return
    try:
        client = Client(launcher.address, timeout=PATIENCE)
    except (OSError, ValueError) as error:  # a timeout is an OSError
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"launcher.address={launcher.address} does not answer: {first}") from None
    with client:
        yield client


@contextmanager
def _without_a_word_of_semaphores() -> Iterator[None]:
    """Whoever is interrupted leaves them to Python's tracker, which removes them; begun in here, it does not tell."""
    before = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = ",".join(filter(None, (before, "ignore:resource_tracker:UserWarning")))
    try:
        yield
    finally:
        del os.environ["PYTHONWARNINGS"]
        if before is not None:
            os.environ["PYTHONWARNINGS"] = before


def distribute(job: Job, cells: Sequence[Cell], client: Any, launcher: Launcher) -> dict[str, Status]:
    """Has what is missing computed and stored; gives the cells that failed, however often they were tried."""
    from distributed import as_completed

    failed: dict[str, Status] = {}
    slices: dict[str, dict[int, Simulation | None]] = {}  # of a cell, the first run of each -> what came back
    under_way = as_completed(with_results=False, raise_errors=False)
    about: dict[str, tuple[Cell, int | None]] = {}  # by the future's key; no first run: a diagnosis

    def send(cell: Cell, first: int | None, work: Any, *arguments: Any) -> None:
        plain = dataclasses.replace(cell)  # without what it has worked out for itself
        future = client.submit(work, plain, *arguments, devices=launcher.devices, retries=RETRIES, pure=False)
        about[future.key] = (cell, first)
        under_way.add(future)

    def look(cell: Cell) -> None:
        probes = job.study.diagnostics.probes(cell)
        if probes and job.stored_diagnostics(cell) is None:
            send(cell, None, looked_into, job.states(cell, probes), job.diagnosed_runs(cell))

    def settle(cell: Cell) -> None:
        found = [part for part in slices[cell.id].values() if part is not None]
        if len(found) == len(slices[cell.id]):
            job.keep_rounds(cell, joined(found))
            del slices[cell.id]
            job.progress(cell, cell.rounds, 0)
            look(cell)

    for cell in cells:
        if job.stored_rounds(cell) is not None:
            look(cell)
            continue
        probes, slices[cell.id] = job.study.diagnostics.probes(cell), {}
        for begin in range(0, cell.runs, launcher.slice):
            runs = min(launcher.slice, cell.runs - begin)
            slices[cell.id][begin] = stored = stored_slice(job, cell, begin, runs, probes)
            if stored is None:
                send(cell, begin, played, begin, runs, probes)
        settle(cell)
    for future in under_way:
        cell, first = about[future.key]
        if cell.id in failed:
            continue
        if future.status != "finished":
            error = future.exception()
            failed[cell.id] = raised(error) if error is not None else Status("failed", future.status)
            continue
        if first is None:
            job.keep_diagnostics(cell, future.result())
            continue
        slices[cell.id][first] = part = future.result()
        future.release()
        keep_slice(job, cell, first, part)
        settle(cell)
    return failed


def keep_slice(job: Job, cell: Cell, first: int, part: Simulation) -> None:
    """Stores some runs of a cell, with the states that are to be looked into."""
    tree = rounds_tree(cell, part)
    for name, group in states_tree(part.snapshots).children.items():
        tree[f"snapshots/{name}"] = group
    job.folder.write(cell, tree, _kind(first, len(part.regret)))


def stored_slice(job: Job, cell: Cell, first: int, runs: int, probes: Sequence[int]) -> Simulation | None:
    """What an earlier run stored of these runs, if it kept the states before the same rounds."""
    tree = job.stored(cell, _kind(first, runs))
    if tree is None:
        return None
    states = tree.children.get("snapshots", xr.DataTree())
    kept = snapshots(states, state_structure(cell.environment, cell.agent))
    if [snapshot.round for snapshot in kept] != sorted(probes):
        return None
    record = Record.from_arrays({name: values(tree, name) for name in Record.fields()})
    outside_support = values(tree, "outside_support").astype(bool)
    seconds = Seconds(*(float(tree.attrs[name]) for name in ("seconds", "compile_seconds")))
    return Simulation(record, outside_support, seconds, tuple(kept))


def _kind(first: int, runs: int) -> str:
    return SLICES.replace("*", f"{first}-{runs}")


def played(cell: Cell, first: int, runs: int, probes: Sequence[int], devices: int | None) -> Simulation:
    """Some runs of a cell; on a worker."""
    configure(precision=cell.precision, devices=devices)
    return simulate(
        cell.environment,
        cell.agent,
        rounds=cell.rounds,
        runs=runs,
        seed=cell.seed,
        first_run=first,
        record_every=cell.record_every,
        probes=probes,
        devices=jax.devices()[:devices],
    )


def looked_into(cell: Cell, snapshots: Sequence[Snapshot], runs: int, devices: int | None) -> Groups:
    """The diagnostics of a cell; on a worker."""
    configure(precision=cell.precision, devices=devices)
    return diagnose(cell, snapshots, runs, lambda: None, jax.devices()[:devices])


def joined(slices: Sequence[Simulation]) -> Simulation:
    """Runs that were played apart, one after the other."""
    record = jax.tree.map(lambda *runs: np.concatenate(runs), *(part.record for part in slices))
    outside_support = np.concatenate([part.outside_support for part in slices])
    snapshots = tuple(
        Snapshot(
            kept[0].round, jax.tree.map(lambda *runs: np.concatenate(runs), *(one.states for one in kept))
        )
        for kept in zip(*(part.snapshots for part in slices), strict=True)
    )
    seconds = Seconds(*map(sum, zip(*(part.seconds for part in slices), strict=True)))
    return Simulation(record, outside_support, seconds, snapshots)
