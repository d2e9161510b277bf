"""Measures the samplers of a study's cells, from what their runs stored: arrays for the tree that ArviZ can read."""

from collections.abc import Callable, Iterator, Sequence

import jax
import numpy as np
import xarray as xr

from experiments.config.cell import Cell
from fgtsva_ppl.agents import Thompson
from fgtsva_ppl.diagnostics import METRICS, Quality, Samples, probe_async, quality
from fgtsva_ppl.simulation import Snapshot

type Groups = dict[str, xr.Dataset]  # path below the cell -> data


def diagnose(
    cell: Cell,
    snapshots: Sequence[Snapshot],
    runs: int,
    progress: Callable[[], None],
    devices: Sequence[jax.Device] | None = None,
) -> Groups:
    """Diagnostics of the first `runs` runs at every snapshot, and the first run's chains as ArviZ's groups.

    Why there is no reference for some rounds stands in the attribute `refused`, which is empty where there are all.
    """
    agent = cell.agent
    assert isinstance(agent, Thompson)
    groups: Groups = {}
    found: list[Quality] = []
    for snapshot, samples in _probed(cell, agent, snapshots, runs, devices):
        found.append(quality(samples))
        groups |= _chains(cell, agent, snapshot.round, jax.tree.map(lambda x: x[0], samples))
        progress()
    refused = [why for one in found for why in one.rejections if why]
    said = f"no reference for {len(refused)} of {runs * len(found)} probed rounds: {min(refused, default='')}"
    groups["diagnostics"] = _metrics(found, [snapshot.round for snapshot in snapshots])
    groups["diagnostics"].attrs["refused"] = said if refused else ""
    return groups


def _probed(
    cell: Cell,
    agent: Thompson,
    snapshots: Sequence[Snapshot],
    runs: int,
    devices: Sequence[jax.Device] | None,
) -> Iterator[tuple[Snapshot, Samples]]:
    """Every snapshot with what was drawn for it; the next is being drawn while one is looked at."""

    def begun(snapshot: Snapshot) -> Callable[[], Samples]:
        return probe_async(cell.environment, agent, snapshot, runs=runs, seed=cell.seed, devices=devices)

    under_way = [begun(snapshot) for snapshot in snapshots[:1]]
    for index, snapshot in enumerate(snapshots):
        under_way += [begun(following) for following in snapshots[index + 1 : index + 2]]
        yield snapshot, under_way.pop(0)()


def _metrics(found: Sequence[Quality], rounds: Sequence[int]) -> xr.Dataset:
    variables: dict[str, tuple[tuple[str, ...], np.ndarray, dict[str, str]]] = {
        name: (
            ("probed_run", "probe"),
            np.stack([one.metrics[name] for one in found], axis=1),
            {"what": what},
        )
        for name, what in METRICS.items()
    }
    for name, values in (
        ("action_probability", [one.action_probabilities for one in found]),
        ("action_probability_exact", [one.reference_probabilities for one in found]),
    ):
        variables[name] = (("probed_run", "probe", "arm"), np.stack(values, axis=1), {})
    return xr.Dataset(variables, {"probe": list(rounds)})


def _chains(cell: Cell, agent: Thompson, round_: int, samples: Samples) -> Groups:
    """The chains of one run under the parameters' own names, as `arviz.plot_trace` and its kin take them."""
    shape = cell.environment.shape
    model = agent.model(shape.arms, shape.dim)
    sites = jax.vmap(jax.vmap(model.constrain))(samples.chains.position)
    posterior = {
        name: (("chain", "draw", *(f"{name}_dim_{i}" for i in range(values.ndim - 2))), np.asarray(values))
        for name, values in sites.items()
    }
    stats = {
        "acceptance_rate": (("chain", "draw"), np.asarray(samples.chains.acceptance_rate)),
        "diverging": (("chain", "draw"), np.asarray(samples.chains.num_divergent).astype(bool)),
        "num_gradients": (("chain", "draw"), np.asarray(samples.chains.num_gradients)),
    }
    energies = np.asarray(samples.chains.energy)
    if energies.shape == samples.chains.acceptance_rate.shape and np.all(np.isfinite(energies)):
        stats["energy"] = (("chain", "draw"), energies)
    coords = {
        "chain": np.arange(samples.chains.acceptance_rate.shape[0]),
        "draw": np.arange(samples.chains.acceptance_rate.shape[1]),
    }
    numbered = {  # without which ArviZ does not plot
        dim: np.arange(size)
        for dims, values in posterior.values()
        for dim, size in zip(dims[2:], values.shape[2:], strict=True)
    }
    path = f"round_{round_}"
    return {
        f"{path}/posterior": xr.Dataset(posterior, coords | numbered),
        f"{path}/sample_stats": xr.Dataset(stats, coords),
    }
