"""The output folder of a study: a file for each cell, complete or absent, and `results.nc` with all of them.

A cell's file is written under another name and moved in one step, and ends with a digest of its content: one that was
truncated or changed is noticed and computed again. Nothing is unpickled.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import xarray as xr
from omegaconf import OmegaConf

from experiments.config.cell import Cell
from experiments.config.labels import labels_of
from experiments.config.provenance import code_version, versions
from experiments.config.study import Study
from experiments.storage.codecs import cell_attributes
from experiments.storage.errors import StoreError
from experiments.storage.files import (
    PARTIAL,
    read_tree,
    remove_partial_files,
    write_atomically,
    write_tree,
)
from experiments.storage.layout import CELLS, CONFIG, RESULTS
from experiments.storage.locks import Locks
from fgtsva_ppl import __version__
from samplers.errors import InputError

MARK = "fgtsva"  # the first key of our config.yaml


def default_folder(study: Study) -> Path:
    """The folder for a study without `output=`: the same settings, the same folder."""
    digest = hashlib.sha256("".join(cell.id for cell in study.cells).encode()).hexdigest()[:8]
    return Path("results") / f"{study.name}-{digest}"


def study_config(study: Study) -> dict[str, Any]:
    """The content of config.yaml: everything that was specified or derived, in plain types."""
    return {
        MARK: __version__,
        "study": study.name,
        "title": study.title,
        "question": study.question,
        "command": study.command,
        "precision": study.precision,
        **({"notes": notes} if (notes := study.notes()) else {}),
        **study.comparison.plain(),
        "code": code_version(),
        "versions": versions(),
        "cells": {cell.id: cell.settings for cell in study.cells},
    }


class Folder:
    """The output folder of a study.

    It holds `config.yaml`; `cells/ID.nc` with the rounds of a cell, and `cells/ID.KIND.nc` with other data of a cell
    (`states`, `diagnostics-...`, a checkpoint); and, once all cells are computed, `results.nc`.

    Args:
        path: Where it is; it need not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def claim(self, study: Study, warn: Callable[[str], None]) -> None:
        """Creates the folder and writes config.yaml. Raises InputError, with nothing written, if it has other data."""
        self.check(study)
        config = self.path / CONFIG
        try:
            if config.is_file() and not _is_signed(config.read_bytes()):
                warn(f"{config} is not what was written; writing it again")
            self.path.mkdir(parents=True, exist_ok=True)
            text = OmegaConf.to_yaml(OmegaConf.create(study_config(study)))
            write_atomically(config, _sign(text.encode()))
            self.cells.mkdir(exist_ok=True)
            for folder in (self.path, self.cells, self.path / "figures"):
                remove_partial_files(folder)
        except OSError as error:
            raise InputError(f"cannot write to output={self.path}: {error.strerror or error}") from None

    def check(self, study: Study) -> None:
        """Raises InputError if the folder holds anything but this study's own results."""
        try:
            if self.path.exists() and not self.path.is_dir():
                raise InputError(f"output={self.path} is a file, not a folder; choose another output=")
            # A partial file may be the config of another process that started a moment earlier.
            if self.path.is_dir() and any(path.suffix != PARTIAL for path in self.path.iterdir()):
                self._check_config(self.path / CONFIG, study)
        except OSError as error:
            raise InputError(f"cannot read output={self.path}: {error.strerror or error}") from None

    def _check_config(self, config: Path, study: Study) -> None:
        if config.is_file() and not _is_signed(config.read_bytes()) and any(map(self.holds, study.cells)):
            return  # truncated or changed, so that only the cells show whose results these are
        try:
            content = OmegaConf.to_container(OmegaConf.load(config)) if config.is_file() else None
        except Exception:  # a file that we did not write can fail in any way
            content = None
        if not isinstance(content, dict) or MARK not in content:
            raise InputError(
                f"output={self.path} holds something else; choose another output= or an empty folder"
            )
        cells = content.get("cells")
        if not isinstance(cells, dict) or _plain(cells.values()) != _plain(c.settings for c in study.cells):
            raise InputError(
                f"output={self.path} holds the results of other settings; choose another output="
            )

    @property
    def cells(self) -> Path:
        """The folder of the cells' files."""
        return self.path / CELLS

    def read(self, cell: Cell, kind: str = "") -> xr.DataTree | None:
        """Data of a cell, or None if they are not stored. Raises DamagedError if the file is not what was written."""
        path = self._file(cell, kind)
        return read_tree(path) if path.exists() else None

    def holds(self, cell: Cell, kind: str = "") -> bool:
        """Whether data of a cell are stored; its rounds if no kind is given."""
        return self._file(cell, kind).exists()

    def write(self, cell: Cell, tree: xr.DataTree, kind: str = "") -> None:
        """Stores data of a cell in one step."""
        with self.writing():
            write_tree(self._file(cell, kind), tree)

    def remove(self, cell: Cell, kind: str) -> None:
        """Removes data of a cell; `*` in the kind matches anything."""
        for path in self.cells.glob(self._file(cell, kind).name):
            path.unlink(missing_ok=True)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Raises StoreError for errors of the disk, to distinguish them from errors of a cell."""
        try:
            yield
        except OSError as error:
            raise StoreError(self.path, error) from error

    def locks(self) -> Locks:
        """Locks on cells, among the processes that share the folder."""
        return Locks(self.cells / ".lock")

    def _file(self, cell: Cell, kind: str) -> Path:
        return self.cells / f"{cell.id}{'.' if kind else ''}{kind}.nc"

    def write_results(
        self,
        study: Study,
        data: Mapping[str, xr.DataTree],
        status: Mapping[str, tuple[str, str]],
    ) -> None:
        """Writes all cells to `results.nc`, a group each with the attributes `label`, `status` and `reason`.

        Args:
            study: The study.
            data: The rounds and diagnostics of every cell that has some, by cell.
            status: Status and reason by cell. A failed cell's group has attributes only.
        """
        root = {"study": study.name, MARK: __version__, "code": code_version()}
        tree = xr.DataTree(xr.Dataset(attrs=root))
        labels = labels_of(study.cells)
        for cell in study.cells:
            group = data[cell.id].copy() if cell.id in data else xr.DataTree()
            group.attrs |= cell_attributes(cell)
            group.attrs["status"], group.attrs["reason"] = status[cell.id]
            group.attrs["label"] = labels[cell.id]
            tree[f"cells/{cell.id}"] = group
        with self.writing():
            write_tree(self.path / RESULTS, tree)


def _sign(text: bytes) -> bytes:
    """A config with a digest of it in its last line."""
    return text + b"# sha256 " + hashlib.sha256(text).hexdigest().encode() + b"\n"


def _is_signed(text: bytes) -> bool:
    """Whether a config is what was written."""
    return text == _sign(text[: text.rfind(b"# sha256 ")])


def _plain(settings: Any) -> list[str]:
    return sorted(json.dumps(one, sort_keys=True) for one in settings)
