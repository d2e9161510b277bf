"""Reads a study's output folder. Nothing is unpickled or executed, so a stranger's folder is safe to open."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from omegaconf import OmegaConf

from experiments.analysis.results import DONE, StudyResults
from experiments.config.cell import GROUPS, Cell
from experiments.config.comparison import Comparison, comparison_from_config
from experiments.storage.errors import DamagedError
from experiments.storage.files import read_tree
from experiments.storage.folder import MARK
from experiments.storage.layout import CELLS, CONFIG, RESULTS, check_readable, finished_cells
from experiments.storage.netcdf import from_netcdf
from fgtsva_ppl.diagnostics import METRICS
from fgtsva_ppl.simulation import Record
from samplers.errors import InputError, did_you_mean

UNFINISHED = ("unfinished", "not computed yet")


@dataclass(frozen=True)
class StoredCell(Cell):
    """A cell as it was run, independent of what the code and its registries are today."""

    key: str

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The stored settings."""
        numbers = {"rounds": self.rounds, "runs": self.runs, "seed": self.seed}
        numbers |= {"record_every": self.record_every} if self.record_every > 1 else {}
        return {**self.parts, **numbers, **({"precision": self.precision} if self.precision else {})}

    @cached_property
    def id(self) -> str:
        """The stored id."""
        return self.key

    def _build(self, group: str) -> Any:
        # The content digest of a dataset is stored beside its settings, but is no setting.
        part = {key: value for key, value in self.parts[group].items() if key != "content"}
        return GROUPS[group].build(part.pop("name"), part)


def load_results(folder: Path | str) -> StudyResults:
    """Reads the output folder of a run. Of one that is not finished, the cells that are.

    Args:
        folder: a folder that `fgtsva run` wrote; only its `config.yaml` and `results.nc` are read or, where the latter
            is not written yet, its finished cells.

    Returns:
        Everything that is derived from the stored cells, computed when it is first used.

    Raises:
        InputError: the folder is not the output of a run, no cell in it is finished, or a file is damaged.
    """
    folder = Path(folder)
    check_readable(folder)
    text = _text(folder / CONFIG)
    config = _config(folder, text)
    cells, comparison = _cells(folder, config), _comparison(folder, config)
    groups = _results(folder / RESULTS) if (folder / RESULTS).is_file() else _finished(folder)
    data = {
        cell.id: groups[cell.id] for cell in cells if "regret" in getattr(groups.get(cell.id), "dataset", ())
    }
    for key, tree in data.items():
        _check_arrays(folder / RESULTS, key, tree)
    status = {cell.id: _status(groups.get(cell.id)) for cell in cells}
    return StudyResults(str(config.get("study", "")), cells, data, comparison, status, config, text, folder)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({_first_line(error)})") from None


def _config(folder: Path, text: str) -> dict[str, Any]:
    try:
        config = OmegaConf.to_container(OmegaConf.create(text))
    except Exception:  # any failure means that it is not our file
        config = None
    if not isinstance(config, dict) or MARK not in config or not isinstance(config.get("cells"), dict):
        raise InputError(f"{folder / CONFIG} was not written by fgtsva")
    return {str(key): value for key, value in config.items()}


def _cells(folder: Path, config: Mapping[str, Any]) -> tuple[StoredCell, ...]:
    try:
        return tuple(_cell(str(key), settings) for key, settings in config["cells"].items())
    except (KeyError, TypeError, AttributeError, ValueError):
        raise InputError(f"{folder / CONFIG} has cells that cannot be read") from None


def _cell(key: str, settings: Mapping[str, Any]) -> StoredCell:
    parts = {group: part for group, part in settings.items() if isinstance(part, dict)}
    numbers = {name: int(settings[name]) for name in ("rounds", "runs", "seed")}
    if not {"environment", "agent"} <= {group for group, part in parts.items() if "name" in part}:
        raise ValueError("not a cell")
    precision = str(settings.get("precision", ""))
    return StoredCell(
        parts, **numbers, precision=precision, key=key, record_every=int(settings.get("record_every", 1))
    )


def _comparison(folder: Path, config: Mapping[str, Any]) -> Comparison:
    try:
        return comparison_from_config(config)
    except (KeyError, TypeError, AttributeError, ValueError):
        raise InputError(f"{folder / CONFIG} has entries that cannot be read") from None


def _results(path: Path) -> dict[str, xr.DataTree]:
    """The groups of the cells by id, all arrays in memory."""
    try:
        tree = from_netcdf(path)
    except DamagedError as damage:
        raise InputError(f"{damage}; the run's own command writes it again") from None
    except Exception as error:  # a broken file can fail in any way
        raise InputError(f"{path} cannot be read ({_first_line(error)})") from None
    if MARK not in tree.attrs:
        raise InputError(f"{path} was not written by fgtsva")
    return dict(tree.children["cells"].children) if "cells" in tree.children else {}


def _finished(folder: Path) -> dict[str, xr.DataTree]:
    """The cells that an unfinished study has stored, by id, with their newest diagnostics."""
    groups = {}
    for path in finished_cells(folder):
        try:
            tree = read_tree(path)
            newest = sorted(
                (folder / CELLS).glob(f"{path.stem}.diagnostics-*.nc"), key=lambda one: one.stat().st_mtime
            )
            for node in read_tree(newest[-1]).subtree if newest else ():
                if node.data_vars:
                    tree[node.path.lstrip("/")] = xr.DataTree(node.to_dataset())
        except DamagedError as damage:
            raise InputError(f"{damage}; the run's own command computes it again") from None
        groups[path.stem] = tree
    return groups


def _check_arrays(path: Path, key: str, data: xr.DataTree) -> None:
    """Raises InputError where a cell lacks arrays that every run stores, or has diagnostics of another version."""
    names = Record.fields()
    wrong = [name for name in names if name in data.dataset and data.dataset[name].dims != ("run", "round")]
    missing = [name for name in names if name not in data.dataset and not name.startswith("propensity")]
    times = {name: data.attrs.get(name) for name in ("seconds", "compile_seconds")}
    missing += [name for name, value in times.items() if not isinstance(value, int | float | np.number)]
    if wrong or missing:
        raise InputError(f"{path}: cell {key} lacks {', '.join([*missing, *wrong])}")
    if "diagnostics" in data.children:
        known = (*METRICS, "action_probability", "action_probability_exact")
        for name in data.children["diagnostics"].data_vars:
            if name not in known:
                hint = did_you_mean(str(name), known)
                raise InputError(f"{path}: cell {key} has an unknown diagnostic {name!r}{hint}")


def _status(group: xr.DataTree | None) -> tuple[str, str]:
    """The status of a cell and its reason; older versions did not store them."""
    if group is None:
        return UNFINISHED
    return str(group.attrs.get("status", DONE[0])), str(group.attrs.get("reason", ""))


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
