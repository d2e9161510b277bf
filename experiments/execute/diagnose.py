"""Computes diagnostics of a cell's sampler from stored states, as groups that ArviZ can read."""

import time
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
    """Computes the diagnostics of the first runs at every snapshot.

    Args:
        cell: The cell, whose agent is a Thompson agent.
        snapshots: The agents' states before each probe round.
        runs: How many runs are probed.
        progress: Called after every probe round.
        devices: The devices to compute on; None for all.

    Returns:
        The group `diagnostics`, with variables (probed_run, probe), whose attribute `rejections` is the reason why
        rounds have no reference, empty if all have one, and whose attribute `seconds` is the time it took; and for
        each probe round `round_N/posterior` and `round_N/sample_stats`, the chains of run 0 with variables (chain,
        draw, ...).
    """
    agent = cell.agent
    assert isinstance(agent, Thompson)
    begin = time.monotonic()
    groups: Groups = {}
    qualities: list[Quality] = []
    for snapshot, samples in _probed(cell, agent, snapshots, runs, devices):
        qualities.append(quality(samples))
        first_run = samples._replace(chains=jax.tree.map(lambda x: x[0], samples.chains))
        groups |= _chains(cell, agent, snapshot.round, first_run)
        progress()
    rejections = [why for one in qualities for why in one.rejections if why]
    probed = runs * len(qualities)
    message = f"no reference for {len(rejections)} of {probed} probed rounds: {min(rejections, default='')}"
    groups["diagnostics"] = _metrics(qualities, [snapshot.round for snapshot in snapshots])
    groups["diagnostics"].attrs["rejections"] = message if rejections else ""
    groups["diagnostics"].attrs["seconds"] = time.monotonic() - begin
    return groups


def _probed(
    cell: Cell,
    agent: Thompson,
    snapshots: Sequence[Snapshot],
    runs: int,
    devices: Sequence[jax.Device] | None,
) -> Iterator[tuple[Snapshot, Samples]]:
    """Every snapshot with the samples drawn for it; the next ones are drawn while these are used."""

    def start(snapshot: Snapshot) -> Callable[[], Samples]:
        return probe_async(cell.environment, agent, snapshot, runs=runs, seed=cell.seed, devices=devices)

    pending = [start(snapshot) for snapshot in snapshots[:1]]
    for index, snapshot in enumerate(snapshots):
        pending += [start(following) for following in snapshots[index + 1 : index + 2]]
        yield snapshot, pending.pop(0)()


def _metrics(qualities: Sequence[Quality], rounds: Sequence[int]) -> xr.Dataset:
    variables: dict[str, tuple[tuple[str, ...], np.ndarray, dict[str, str]]] = {
        name: (
            ("probed_run", "probe"),
            np.stack([one.metrics[name] for one in qualities], axis=1),
            {"long_name": metric.doc},
        )
        for name, metric in METRICS.items()
    }
    for name, values in (
        ("action_probability", [one.action_probabilities for one in qualities]),
        ("action_probability_exact", [one.reference_probabilities for one in qualities]),
    ):
        variables[name] = (("probed_run", "probe", "arm"), np.stack(values, axis=1), {})
    return xr.Dataset(variables, {"probe": list(rounds)})


def _chains(cell: Cell, agent: Thompson, round_: int, samples: Samples) -> Groups:
    """The chains of one run under the parameters' names, as `arviz.plot_trace` and similar functions take them."""
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
    indices = {  # ArviZ plots no dimension without coordinates
        dim: np.arange(size)
        for dims, values in posterior.values()
        for dim, size in zip(dims[2:], values.shape[2:], strict=True)
    }
    path = f"round_{round_}"
    return {
        f"{path}/posterior": xr.Dataset(posterior, coords | indices),
        f"{path}/sample_stats": xr.Dataset(stats, coords),
    }
