"""Results on disk: a file per cell, whole or absent, and from them one tree for the study.

A cell's file is written beside its place and moved there in one step, and carries a digest of its content: a file that
was cut short or changed is noticed and computed again. Nothing is unpickled.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from omegaconf import OmegaConf

from experiments.cells import Cell, code_version
from experiments.config import Study
from fgtsva_ppl import Simulation, __version__
from samplers.settings import InputError

MARK = "fgtsva"  # the first key of our config.yaml
DTYPES = {
    "regret": "float64",
    "action": "int32",
    "acceptance": "float32",
    "diverged": "int32",
    "gradients": "int32",
    "restored": "int8",
}


class DamagedError(Exception):
    """A stored cell that is not what was written."""


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
        "precision": study.precision,
        "code": code_version(),
        "cells": {cell.id: cell.settings for cell in study.cells},
    }


class Folder:
    """A study's output folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def claim(self, study: Study) -> None:
        """Makes the folder this study's own, or raises InputError and leaves everything as it was."""
        config = self.path / "config.yaml"
        try:
            if self.path.exists() and not self.path.is_dir():
                raise InputError(f"output={self.path} is a file, not a folder; choose another output=")
            if self.path.is_dir() and any(self.path.iterdir()):
                self._check_ours(config, study)
            self.cells.mkdir(parents=True, exist_ok=True)
            write_atomically(config, OmegaConf.to_yaml(OmegaConf.create(resolved(study))).encode())
        except OSError as error:
            raise InputError(f"cannot write to output={self.path}: {error.strerror or error}") from None

    def _check_ours(self, config: Path, study: Study) -> None:
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

    def read(self, cell: Cell) -> xr.Dataset | None:
        """A finished cell, or None if there is none. Raises DamagedError where a file is not whole."""
        path = self.cells / f"{cell.id}.nc"
        return read_cell(path) if path.exists() else None

    def write(self, cell: Cell, data: xr.Dataset) -> None:
        """Stores a cell whole."""
        path = self.cells / f"{cell.id}.nc"
        data = data.assign_attrs(digest=digest(data))
        write_dataset(path, xr.DataTree(data))

    def gather(self, study: Study, data: Mapping[str, xr.Dataset]) -> None:
        """Puts all cells into `results.nc`, a group each."""
        tree = xr.DataTree(
            xr.Dataset(attrs={"study": study.name, "fgtsva": __version__, "code": code_version()})
        )
        for cell in study.cells:
            if cell.id in data:
                tree[f"cells/{cell.id}"] = xr.DataTree(data[cell.id])
        write_dataset(self.path / "results.nc", tree)


def _plain(settings: Any) -> list[str]:
    return sorted(json.dumps(one, sort_keys=True) for one in settings)


def dataset(cell: Cell, simulation: Simulation) -> xr.Dataset:
    """A simulation as labelled arrays."""
    variables = {
        name: (("run", "round"), np.asarray(getattr(simulation, name), dtype))
        for name, dtype in DTYPES.items()
    }
    coords = {"run": np.arange(cell.runs), "round": 1 + np.arange(cell.rounds)}
    attrs = {
        "cell": cell.id,
        "settings": json.dumps(cell.settings, sort_keys=True),
        "seconds": simulation.seconds.computing,
        "compile_seconds": simulation.seconds.compiling,
    }
    return xr.Dataset(variables, coords, attrs)


def digest(data: xr.Dataset) -> str:
    """A digest of the values and settings of a cell."""
    made = hashlib.sha256(str(data.attrs.get("settings")).encode())
    for name in sorted(map(str, data.data_vars)):
        made.update(name.encode())
        made.update(np.ascontiguousarray(data[name].values).tobytes())
    return made.hexdigest()


def read_cell(path: Path) -> xr.Dataset:
    """A cell from its file. Raises DamagedError where the file is not what was written."""
    try:
        with xr.open_dataset(path, engine="h5netcdf") as opened:
            data = opened.load()
    except Exception as error:  # a broken file can fail in any way, all of which mean the same
        raise DamagedError(f"{path} cannot be read ({error})") from None
    if data.attrs.get("digest") != digest(data):
        raise DamagedError(f"{path} is not what was written")
    return data


def write_dataset(path: Path, tree: xr.DataTree) -> None:
    """Writes a tree as netCDF in one step."""
    encoding = {
        group.path: {
            str(name): {"zlib": True, "complevel": 1}
            for name, values in group.data_vars.items()
            if values.size > 64
        }
        for group in tree.subtree
    }
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
        partial = Path(file.name)
    try:
        tree.to_netcdf(partial, engine="h5netcdf", encoding=encoding)
        _settle(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def write_atomically(path: Path, content: bytes) -> None:
    """Writes a file in one step."""
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
        file.write(content)
        partial = Path(file.name)
    try:
        _settle(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _settle(partial: Path, path: Path) -> None:
    with open(partial, "rb") as file:
        os.fsync(file.fileno())
    partial.chmod(0o666 & ~_umask())
    os.replace(partial, path)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
