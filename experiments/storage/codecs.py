"""Converts simulations, agents' states and checkpoints to labelled arrays, and back."""

import json
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
import xarray as xr
from jaxtyping import Shaped

from experiments.config.cell import Cell
from fgtsva_ppl import Simulation
from fgtsva_ppl.simulation import CheckpointState, Record, Snapshot
from fgtsva_ppl.timing import Seconds


def rounds_to_tree(cell: Cell, simulation: Simulation) -> xr.DataTree:
    """A simulation as labelled arrays.

    Returns:
        A tree whose variables have the dimensions `run` (counted from 0) and `round` (the last round of each recorded
        block, counted from 1), and whose attributes hold the cell's id and settings and the seconds that it took.
    """
    variables: dict[str, Any] = {
        name: (("run", "round"), np.asarray(values, Record.fields()[name].dtype))
        for name, values in simulation.record.arrays().items()
    }
    variables["outside_support"] = ("run", np.asarray(simulation.outside_support, "int8"))
    coords = {
        "run": np.arange(len(simulation.regret)),
        "round": cell.record_every * (1 + np.arange(cell.rounds // cell.record_every)),
    }
    attrs = {
        **cell_attributes(cell),
        "seconds": simulation.seconds.computing,
        "compile_seconds": simulation.seconds.compiling,
    }
    return xr.DataTree(xr.Dataset(variables, coords, attrs))


def cell_attributes(cell: Cell) -> dict[str, str]:
    """The attributes that every stored cell has."""
    return {"cell": cell.id, "settings": json.dumps(cell.settings, sort_keys=True)}


def tree_to_simulation(tree: xr.DataTree, snapshots: Sequence[Snapshot]) -> Simulation:
    """The simulation back from its tree."""
    record = Record.from_arrays({name: values(tree, name) for name in Record.fields()})
    outside_support = values(tree, "outside_support").astype(bool)
    seconds = Seconds(*(float(tree.attrs[name]) for name in ("seconds", "compile_seconds")))
    return Simulation(record, outside_support, seconds, tuple(snapshots))


def snapshots_to_tree(snapshots: Sequence[Snapshot]) -> xr.DataTree:
    """Agents' states as plain arrays: the leaves of their pytrees, a group for each round."""
    groups = {}
    for snapshot in snapshots:
        leaves = (np.asarray(leaf) for leaf in jax.tree.leaves(snapshot.states))
        variables = {
            f"leaf_{i}": (("run", *(f"leaf_{i}_dim_{j}" for j in range(leaf.ndim - 1))), leaf)
            for i, leaf in enumerate(leaves)
        }
        groups[f"round_{snapshot.round}"] = xr.Dataset(variables, attrs={"round": snapshot.round})
    return xr.DataTree.from_dict(groups)


def tree_to_snapshots(tree: xr.DataTree, structure: Any) -> list[Snapshot]:
    """The states back in their pytrees, in the order of rounds; `structure` is that of an agent's state."""
    snapshots = []
    for group in tree.children.values():
        leaves = [group[f"leaf_{i}"].values for i in range(len(group.data_vars))]
        snapshots.append(Snapshot(int(group.attrs["round"]), jax.tree.unflatten(structure, leaves)))
    return sorted(snapshots, key=lambda snapshot: snapshot.round)


def checkpoint_to_tree(checkpoint: CheckpointState) -> xr.DataTree:
    """An unfinished simulation as plain arrays."""
    groups = {
        name: xr.Dataset({f"leaf_{i}": _unnamed(f"leaf_{i}", leaf) for i, leaf in enumerate(leaves)})
        for name, leaves in (("carry", checkpoint.carry), ("record", checkpoint.record))
    }
    tree = xr.DataTree.from_dict(groups)
    tree.attrs |= {"rounds": checkpoint.rounds, "seconds": list(checkpoint.seconds)}
    for name, group in snapshots_to_tree(checkpoint.snapshots).children.items():
        tree[f"snapshots/{name}"] = group
    return tree


def tree_to_checkpoint(tree: xr.DataTree, structure: Any) -> CheckpointState:
    """The unfinished simulation back from its tree; `structure` is that of an agent's state."""
    children = tree.children
    carry, record = (
        [values(children[name], f"leaf_{i}") for i in range(len(children[name].data_vars))]
        for name in ("carry", "record")
    )
    snapshots = tree_to_snapshots(children["snapshots"], structure) if "snapshots" in children else []
    seconds = Seconds(*map(float, tree.attrs["seconds"]))
    return CheckpointState(int(tree.attrs["rounds"]), carry, record, tuple(snapshots), seconds)


def _unnamed(name: str, leaf: Shaped[np.ndarray, "..."]) -> tuple[tuple[str, ...], Shaped[np.ndarray, "..."]]:
    return tuple(f"{name}_dim_{j}" for j in range(leaf.ndim)), leaf


def values(tree: xr.DataTree, name: str) -> Shaped[np.ndarray, "..."]:
    """A variable of a tree's root as a plain array."""
    return np.asarray(tree.dataset[name].values)
