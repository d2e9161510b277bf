"""Quantities of one cell's stored arrays, and the arrays of several cells as one."""

import re
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Float, Num

from experiments.config.cell import GROUPS, Cell
from experiments.config.labels import varied
from experiments.storage.codecs import values
from fgtsva_ppl.diagnostics import METRICS
from samplers.errors import InputError, did_you_mean

ROUND = re.compile(r"round_(\d+)")  # group of a probed round below a cell's

type CellData = Mapping[str, xr.DataTree]  # the arrays of cells, by id


def final_regret(data: xr.DataTree) -> Float[np.ndarray, " runs"]:
    """Cumulative regret of each run at the last round."""
    return np.asarray(values(data, "regret").sum(axis=1))


def gradients_per_round(data: xr.DataTree) -> float:
    """Mean number of gradients a round, over runs and rounds."""
    rounds_per_record = int(values(data, "round")[0])  # stored numbers are sums over so many rounds
    return float(values(data, "num_gradients").mean()) / rounds_per_record


def diagnostic(data: xr.DataTree, name: str) -> Num[np.ndarray, "runs probes"]:
    """A diagnostic of each probed run and round; NaN where an older version did not store it.

    Args:
        data: the arrays of a cell that was probed.
        name: one of `fgtsva_ppl.diagnostics.METRICS`.

    Raises:
        InputError: there is no such diagnostic.
    """
    if name not in METRICS:
        raise InputError(
            f"unknown diagnostic {name!r}{did_you_mean(name, METRICS)}; valid: {', '.join(METRICS)}"
        )
    stored = data.children["diagnostics"]
    if name in stored.dataset:
        return values(stored, name)
    return np.full((stored.sizes["probed_run"], stored.sizes["probe"]), np.nan)


def stack[T: (xr.Dataset, xr.DataArray)](
    cells: Sequence[Cell], parts: Sequence[T], labels: Mapping[str, str]
) -> T:
    """Stacks the arrays of cells along a new dimension `cell`.

    Args:
        cells: the cells.
        parts: an array or dataset of each; NaN fills what a smaller one lacks.
        labels: the label of each cell, by id.

    Returns:
        The stacked arrays. `cell` is indexed by id; `label`, the groups (environment, sampler, ...) and every setting
        that differs between the cells are indexes along it as well, so that `sel(sampler="mala")` works.
    """
    index = pd.Index([cell.id for cell in cells], name="cell")
    stacked = xr.concat([_indexed(part) for part in parts], index, join="outer", combine_attrs="drop")
    coordinates = {"label": np.array([labels[cell.id] for cell in cells], object), **_settings(cells)}
    stacked = stacked.assign_coords({key: ("cell", values) for key, values in coordinates.items()})
    for key in coordinates:
        stacked = stacked.set_xindex(key)
    return stacked


def _settings(cells: Sequence[Cell]) -> dict[str, np.ndarray]:
    """Groups and differing settings by dotted key; where a cell has no such setting it is NaN or an empty string."""
    groups = [key for key in GROUPS if any(key in cell.flat for cell in cells)]
    settings = {}
    for key in dict.fromkeys([*groups, *varied(cells)]):
        entries = [cell.flat.get(key) for cell in cells]
        numeric = all(entry is None or type(entry) in (int, float) for entry in entries)
        missing, kind = (np.nan, float) if numeric else ("", object)
        settings[key] = np.array([missing if entry is None else entry for entry in entries], kind)
    return settings


def _indexed[T: (xr.Dataset, xr.DataArray)](part: T) -> T:
    """With a coordinate for every dimension, without which arrays of different sizes cannot be stacked."""
    return part.assign_coords(
        {dim: np.arange(size) for dim, size in part.sizes.items() if dim not in part.coords}
    )


def probed_rounds(data: xr.DataTree) -> list[int]:
    """The rounds of a cell whose chains are stored."""
    return sorted(int(matched[1]) for name in data.children if (matched := ROUND.fullmatch(name)))


def chains_of_round(data: xr.DataTree, round: int) -> xr.DataTree:
    """The chains of a cell's first run at a probed round: ArviZ's groups `posterior` and `sample_stats`."""
    probed = probed_rounds(data)
    if round not in probed:
        raise InputError(f"round {round} was not probed; probed: {', '.join(map(str, probed)) or 'none'}")
    groups = data.children[f"round_{round}"].children
    return xr.DataTree.from_dict({name: group.to_dataset(inherit=False) for name, group in groups.items()})
