"""Results on disk: a file per cell, whole or absent, and from them one tree for the study.

A cell's file is written beside its place and moved there in one step, and ends with a digest of what is in it: one that
was cut short or changed is noticed and computed again. Nothing is unpickled.
"""

import hashlib
import json
import os
import platform
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import numpy as np
import xarray as xr
from omegaconf import OmegaConf

from experiments.config.cell import Cell, code_version, versions
from experiments.config.compose import Study
from experiments.storage.errors import DamagedError, StoreError
from experiments.storage.locks import Locks
from experiments.storage.netcdf import from_netcdf, to_netcdf_bytes
from fgtsva_ppl import Simulation, __version__
from fgtsva_ppl.simulation.loop import CheckpointState, Snapshot
from fgtsva_ppl.timing import Seconds
from samplers.settings import InputError

MARK = "fgtsva"  # the first key of our config.yaml
PART = ".part"  # how the names of files end that are not whole yet
DTYPES = {
    "regret": "float64",
    "action": "int32",
    "acceptance_rate": "float32",
    "num_divergent": "int32",
    "num_gradients": "int32",
    "num_resets": "int32",
}


def default_folder(study: Study) -> Path:
    """Where a study goes if nothing is said: the same settings, the same folder."""
    digest = hashlib.sha256("".join(cell.id for cell in study.cells).encode()).hexdigest()[:8]
    return Path("results") / f"{study.name}-{digest}"


def resolved(study: Study) -> dict[str, Any]:
    """All that was asked, in plain types."""
    return {
        MARK: __version__,
        "study": study.name,
        "title": study.title,
        "question": study.question,
        "command": study.command,
        "precision": study.precision,
        **study.comparison.plain(),
        "code": code_version(),
        "versions": versions(),
        "cells": {cell.id: cell.settings for cell in study.cells},
    }


class Folder:
    """A study's output folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def claim(self, study: Study, warn: Callable[[str], None]) -> None:
        """Makes the folder this study's own, or raises InputError and leaves everything as it was."""
        self.check(study)
        config = self.path / "config.yaml"
        try:
            if config.is_file() and not _signed(config.read_bytes()):
                warn(f"{config} is not what was written; writing it again")
            self.path.mkdir(parents=True, exist_ok=True)
            write_atomically(config, _sign(OmegaConf.to_yaml(OmegaConf.create(resolved(study))).encode()))
            self.cells.mkdir(exist_ok=True)
            for folder in (self.path, self.cells, self.path / "figures"):
                sweep(folder)
        except OSError as error:
            raise InputError(f"cannot write to output={self.path}: {error.strerror or error}") from None

    def check(self, study: Study) -> None:
        """Raises InputError where there is something else than this study's own results."""
        try:
            if self.path.exists() and not self.path.is_dir():
                raise InputError(f"output={self.path} is a file, not a folder; choose another output=")
            # What is not whole yet may be the config of another process that came a moment earlier.
            if self.path.is_dir() and any(path.suffix != PART for path in self.path.iterdir()):
                self._check_ours(self.path / "config.yaml", study)
        except OSError as error:
            raise InputError(f"cannot read output={self.path}: {error.strerror or error}") from None

    def _check_ours(self, config: Path, study: Study) -> None:
        if config.is_file() and not _signed(config.read_bytes()) and any(map(self.holds, study.cells)):
            return  # cut short or changed, so that the cells alone tell whose they are
        try:
            found = OmegaConf.to_container(OmegaConf.load(config)) if config.is_file() else None
        except Exception:  # whatever it is, it is not ours
            found = None
        if not isinstance(found, dict) or MARK not in found:
            raise InputError(
                f"output={self.path} holds something else; choose another output= or an empty folder"
            )
        cells = found.get("cells")
        if not isinstance(cells, dict) or _plain(cells.values()) != _plain(c.settings for c in study.cells):
            raise InputError(
                f"output={self.path} holds the results of other settings; choose another output="
            )

    @property
    def cells(self) -> Path:
        """Where the cells are."""
        return self.path / "cells"

    def read(self, cell: Cell, kind: str = "") -> xr.DataTree | None:
        """A stored piece of a cell, or None if there is none. Raises DamagedError where a file is not whole."""
        path = self._file(cell, kind)
        return read_tree(path) if path.exists() else None

    def holds(self, cell: Cell, kind: str = "") -> bool:
        """Whether a piece of a cell is stored; its rounds if nothing is said."""
        return self._file(cell, kind).exists()

    def write(self, cell: Cell, tree: xr.DataTree, kind: str = "") -> None:
        """Stores a piece of a cell whole: its rounds, its `states`, its `diagnostics`."""
        with self.writing():
            write_tree(self._file(cell, kind), tree)

    def remove(self, cell: Cell, kind: str) -> None:
        """Forgets pieces of a cell; a star in their kind stands for anything."""
        for path in self.cells.glob(self._file(cell, kind).name):
            path.unlink(missing_ok=True)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Tells what goes wrong with the disk from what goes wrong with a cell."""
        try:
            yield
        except OSError as error:
            raise StoreError(self.path, error) from error

    def locks(self) -> Locks:
        """Which process computes which cell."""
        return Locks(self.cells / ".lock")

    def _file(self, cell: Cell, kind: str) -> Path:
        return self.cells / f"{cell.id}{'.' if kind else ''}{kind}.nc"

    def gather(
        self, study: Study, data: Mapping[str, xr.DataTree], status: Mapping[str, tuple[str, str]]
    ) -> None:
        """Puts all cells into `results.nc`, a group each with its status and reason; a failed one has no arrays."""
        about = {"study": study.name, "fgtsva": __version__, "code": code_version()}
        tree = xr.DataTree(xr.Dataset(attrs=about))
        for cell in study.cells:
            tree[f"cells/{cell.id}"] = data[cell.id] if cell.id in data else xr.DataTree()
            word, reason = status[cell.id]
            tree[f"cells/{cell.id}"].attrs |= {"status": word, "reason": reason}
        write_tree(self.path / "results.nc", tree)


def _sign(text: bytes) -> bytes:
    """A config with a digest of it in its last line."""
    return text + b"# sha256 " + hashlib.sha256(text).hexdigest().encode() + b"\n"


def _signed(text: bytes) -> bool:
    """Whether a config is what was written."""
    return text == _sign(text[: text.rfind(b"# sha256 ")])


def _plain(settings: Any) -> list[str]:
    return sorted(json.dumps(one, sort_keys=True) for one in settings)


def rounds_tree(cell: Cell, simulation: Simulation) -> xr.DataTree:
    """A simulation as labelled arrays."""
    variables: dict[str, Any] = {
        name: (("run", "round"), np.asarray(getattr(simulation, name), dtype))
        for name, dtype in DTYPES.items()
    }
    variables["outside_support"] = ("run", np.asarray(simulation.outside_support, "int8"))
    coords = {
        "run": np.arange(len(simulation.regret)),
        "round": cell.every * (1 + np.arange(cell.rounds // cell.every)),
    }
    attrs = {
        "cell": cell.id,
        "settings": json.dumps(cell.settings, sort_keys=True),
        "seconds": simulation.seconds.computing,
        "compile_seconds": simulation.seconds.compiling,
    }
    return xr.DataTree(xr.Dataset(variables, coords, attrs))


def states_tree(snapshots: Sequence[Snapshot]) -> xr.DataTree:
    """Agents' states as plain arrays: the leaves of their trees, a group a round."""
    groups = {}
    for snapshot in snapshots:
        leaves = (np.asarray(leaf) for leaf in jax.tree.leaves(snapshot.states))
        named = {
            f"leaf_{i}": (("run", *(f"leaf_{i}_dim_{j}" for j in range(leaf.ndim - 1))), leaf)
            for i, leaf in enumerate(leaves)
        }
        groups[f"round_{snapshot.round}"] = xr.Dataset(named, attrs={"round": snapshot.round})
    return xr.DataTree.from_dict(groups)


def snapshots(tree: xr.DataTree, structure: Any) -> list[Snapshot]:
    """The states back in their trees."""
    found = []
    for group in tree.children.values():
        leaves = [group[f"leaf_{i}"].values for i in range(len(group.data_vars))]
        found.append(Snapshot(int(group.attrs["round"]), jax.tree.unflatten(structure, leaves)))
    return sorted(found, key=lambda snapshot: snapshot.round)


def halfway_tree(halfway: CheckpointState) -> xr.DataTree:
    """An unfinished simulation as plain arrays."""
    groups = {
        name: xr.Dataset({f"leaf_{i}": _unnamed(f"leaf_{i}", leaf) for i, leaf in enumerate(leaves)})
        for name, leaves in (("carry", halfway.carry), ("record", halfway.record))
    }
    tree = xr.DataTree.from_dict(groups)
    tree.attrs |= {"rounds": halfway.rounds, "seconds": list(halfway.seconds)}
    for name, group in states_tree(halfway.snapshots).children.items():
        tree[f"snapshots/{name}"] = group
    return tree


def halfway(tree: xr.DataTree, structure: Any) -> CheckpointState:
    """The unfinished simulation back from its tree; `structure` is that of an agent's state."""
    children = tree.children
    carry, record = (
        [values(children[name], f"leaf_{i}") for i in range(len(children[name].data_vars))]
        for name in ("carry", "record")
    )
    kept = snapshots(children["snapshots"], structure) if "snapshots" in children else []
    return CheckpointState(
        int(tree.attrs["rounds"]), carry, record, tuple(kept), Seconds(*map(float, tree.attrs["seconds"]))
    )


def _unnamed(name: str, leaf: np.ndarray) -> tuple[tuple[str, ...], np.ndarray]:
    return tuple(f"{name}_dim_{j}" for j in range(leaf.ndim)), leaf


def values(tree: xr.DataTree, name: str) -> np.ndarray:
    """A variable of a tree's root as a plain array."""
    return np.asarray(tree.dataset[name].values)


def read_tree(path: Path) -> xr.DataTree:
    """A stored tree. Raises DamagedError where the file is not what was written."""
    try:
        return from_netcdf(path)
    except DamagedError:
        raise
    except Exception as error:  # what we did not write can fail in any way, all of which mean the same
        raise DamagedError(f"{path} cannot be read ({error})") from None


def write_tree(path: Path, tree: xr.DataTree) -> None:
    """Writes a tree as netCDF in one step."""
    write_atomically(path, to_netcdf_bytes(tree))


def write_atomically(path: Path, content: bytes) -> None:
    """Writes a file in one step."""
    partial = _beside(path)
    try:
        partial.write_bytes(content)
        _settle(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _beside(path: Path) -> Path:
    """A new file for what is not whole yet. Its name tells whose it is."""
    suffix = f".{platform.node()}.{os.getpid()}{PART}"
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=suffix)
    os.close(handle)
    return Path(name)


def sweep(folder: Path) -> None:
    """Removes what processes of this machine that are no more left unfinished."""
    for path in folder.glob(f"*.{platform.node()}.*{PART}"):
        owner = path.name.split(".")[-2]
        if owner.isdigit() and not _alive(int(owner)):
            path.unlink(missing_ok=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _settle(partial: Path, path: Path) -> None:
    with open(partial, "rb") as file:
        os.fsync(file.fileno())
    partial.chmod(0o666 & ~_umask())
    os.replace(partial, path)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
