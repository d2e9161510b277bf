"""What a study left on disk, as the report needs it: nothing is simulated and nothing executed."""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import h5py
import xarray as xr
from omegaconf import OmegaConf

from experiments.analysis.summary import Row
from experiments.config.cell import GROUPS, Cell
from experiments.config.comparison import Comparison, comparison_from_config
from experiments.storage.errors import DamagedError
from experiments.storage.folder import MARK
from experiments.storage.netcdf import check_digest, check_links, dataset
from samplers.errors import InputError

ROUND = re.compile(r"round_(\d+)")


@dataclass(frozen=True)
class StoredCell(Cell):
    """A cell as it was run, whatever the code and its registries say today."""

    key: str

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The stored settings."""
        every = {"record_every": self.record_every} if self.record_every > 1 else {}
        return {**self.parts, "rounds": self.rounds, "runs": self.runs, "seed": self.seed, **every}

    @cached_property
    def id(self) -> str:
        """The stored name."""
        return self.key

    def _build(self, group: str) -> Any:
        part = {
            key: value for key, value in self.parts[group].items() if key != "content"
        }  # a table's digest
        return GROUPS[group].build(part.pop("name"), part)


@dataclass(frozen=True)
class Probes:
    """What is known of a cell's sampler at its probe rounds."""

    diagnostics: xr.Dataset | None = None  # (run, probe), action probabilities (run, probe, arm)
    chains: Mapping[int, xr.Dataset] = field(default_factory=dict)  # round -> (chain, draw, ...)
    refused: str = ""  # why some rounds have no reference


@dataclass(frozen=True)
class Stored:
    """An output folder, read."""

    path: Path
    config: Mapping[str, Any]
    config_text: str
    attributes: Mapping[str, Any]  # of results.nc
    comparison: Comparison
    cells: tuple[StoredCell, ...]
    rows: list[Row]  # of summary.csv, one for each cell
    probes: Mapping[str, Probes]  # by cell, where there are any
    status: Mapping[str, tuple[str, str]]  # status and reason by cell

    @cached_property
    def reading(self) -> list[str]:
        """The study's own reading of its numbers, if it brought one."""
        try:
            found = json.loads(str(self.attributes.get("reading", "[]")))
        except ValueError:
            found = None
        return [text for text in found if isinstance(text, str)] if isinstance(found, list) else []

    @cached_property
    def verdicts(self) -> list[dict[str, Any]]:
        """The verdicts on the paper's claims, if the study has come to some."""
        try:
            found = json.loads(str(self.attributes.get("verdicts", "[]")))
        except ValueError:
            found = None
        return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []

    def table(self, name: str) -> list[Row]:
        """A table that was written beside the summary; empty if it was not."""
        path = self.path / f"{name}.csv"
        return _rows(path) if path.is_file() else []

    def data(self) -> dict[str, xr.DataTree]:
        """The runs themselves, which only figures need."""
        with _opened(self.path / "results.nc") as file:
            groups = file.get("cells", {})
            return {
                cell.id: _tree(groups[cell.id]) for cell in self.cells if "regret" in groups.get(cell.id, ())
            }


def read(path: Path, *, summarised: bool = True) -> Stored:
    """Reads an output folder, with its summary unless it is yet to be written.

    Raises InputError where it is not one, or not whole.
    """
    if not path.is_dir():
        raise InputError(f"{path} is not a folder; give the output folder of a run")
    text = _text(path / "config.yaml")
    config = _config(path, text)
    cells, comparison = _cells(path, config), _layout(path, config)
    rows = _rows(path / "summary.csv") if summarised else []
    if summarised and len(rows) != len(cells):
        raise InputError(f"{path / 'summary.csv'} has {len(rows)} rows for {len(cells)} cells; run again")
    attributes, probes, status = _results(path / "results.nc")
    return Stored(path, config, text, attributes, comparison, cells, rows, probes, status)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(
            f"{path.parent} has no {path.name}: not the output folder of a finished run"
        ) from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({_line(error)})") from None


def _config(path: Path, text: str) -> dict[str, Any]:
    try:
        config = OmegaConf.to_container(OmegaConf.create(text))
    except Exception:  # whatever it is, it is not ours
        config = None
    if not isinstance(config, dict) or MARK not in config or not isinstance(config.get("cells"), dict):
        raise InputError(f"{path / 'config.yaml'} was not written by fgtsva")
    return {str(key): value for key, value in config.items()}


def _cells(path: Path, config: Mapping[str, Any]) -> tuple[StoredCell, ...]:
    try:
        return tuple(_cell(str(key), settings) for key, settings in config["cells"].items())
    except (KeyError, TypeError, AttributeError, ValueError):
        raise InputError(f"{path / 'config.yaml'} has cells that cannot be read") from None


def _layout(path: Path, config: Mapping[str, Any]) -> Comparison:
    try:
        return comparison_from_config(config)
    except (KeyError, TypeError, AttributeError, ValueError):
        raise InputError(f"{path / 'config.yaml'} has entries that cannot be read") from None


def _cell(key: str, settings: Mapping[str, Any]) -> StoredCell:
    parts = {group: part for group, part in settings.items() if isinstance(part, dict)}
    numbers = {name: int(settings[name]) for name in ("rounds", "runs", "seed")}
    if not {"environment", "agent"} <= {group for group, part in parts.items() if "name" in part}:
        raise ValueError("not a cell")
    precision = str(settings.get("precision", ""))
    return StoredCell(
        parts, **numbers, precision=precision, key=key, record_every=int(settings.get("record_every", 1))
    )


def _rows(path: Path) -> list[Row]:
    reader = csv.DictReader(io.StringIO(_text(path), newline=""))
    return [
        {key: _value(text) for key, text in row.items() if key is not None and text not in (None, "")}
        for row in reader
    ]


def _value(text: str) -> str | int | float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _results(path: Path) -> tuple[dict[str, Any], dict[str, Probes], dict[str, tuple[str, str]]]:
    with _opened(path) as file:
        check_links(file)
        attributes = {str(key): value for key, value in file.attrs.items()}
        groups = file.get("cells", {})
        status = {
            key: (str(group.attrs.get("status", "done")), str(group.attrs.get("reason", "")))
            for key, group in groups.items()
        }
        return attributes, {key: _probes(group) for key, group in groups.items()}, status


def _probes(group: h5py.Group) -> Probes:
    chains = {
        int(matched[1]): dataset(inner["posterior"])
        for name, inner in group.items()
        if (matched := ROUND.fullmatch(name)) and "posterior" in inner
    }
    diagnostics = dataset(group["diagnostics"]) if "diagnostics" in group else None
    refused = str(group["diagnostics"].attrs.get("refused", "")) if diagnostics is not None else ""
    return Probes(diagnostics, dict(sorted(chains.items())), refused)


@contextmanager
def _opened(path: Path) -> Iterator[h5py.File]:
    """Our netCDF file as HDF5: of hundreds of groups only some are read, which xarray cannot do without opening all."""
    if not path.is_file():
        raise InputError(f"{path.parent} has no {path.name}: not the output folder of a finished run")
    try:
        check_digest(path)
        with h5py.File(path) as file:
            if MARK not in file.attrs:
                raise InputError(f"{path} was not written by fgtsva")
            yield file
    except InputError:
        raise
    except DamagedError as damage:
        raise InputError(f"{damage}; the run's own command writes it again") from None
    except Exception as error:  # a broken file can fail in any way, all of which mean the same
        raise InputError(f"{path} cannot be read ({_line(error)})") from None


def _tree(group: h5py.Group) -> xr.DataTree:
    """A cell's runs and diagnostics."""
    below = {"diagnostics": dataset(group["diagnostics"])} if "diagnostics" in group else {}
    return xr.DataTree.from_dict({"/": dataset(group), **below})


def _line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
