"""Studies and cells from `key=value` overrides, in Hydra's override grammar: a comma makes a grid."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, OverrideType, QuotedString
from hydra.errors import HydraException
from omegaconf import OmegaConf

from experiments.config import titles as asked_for
from experiments.config.cell import GROUPS, Cell, needed_groups
from experiments.config.comparison import AlgorithmRun, Comparison
from experiments.config.validate import Grid, check_keys, check_used
from fgtsva_ppl.jax_config import PRECISIONS
from samplers.errors import InputError, did_you_mean
from samplers.settings import below

DEFAULTS = Path(__file__).with_name("defaults.yaml")
STUDIES = Path(__file__).parents[1] / "studies"  # a folder each, with study.yaml in it
DEFAULT = "default"  # the study if none is named
LOG_SPACED = 12  # rounds that are looked into if nothing is said
NUMBERS = ("rounds", "runs", "seed", "record_every")  # settings of a cell beside its groups
LAUNCHERS = ("here", "dask")
LAUNCHER = ("launcher.address", "launcher.workers", "launcher.slice")
# Settings of the command, one value each
OPTIONS = ("study", "output", "precision", "bounds", "devices", "processes", "launcher", *LAUNCHER)
PATHS = ("output", "environment.path")  # one value each, taken as it stands
MOST_CELLS = 10_000
DIAGNOSTICS = ("diagnostics.rounds", "diagnostics.runs")  # of the command too; rounds are a list


@dataclass(frozen=True)
class Diagnostics:
    """Which rounds of how many runs are looked into. Cells with fewer rounds or runs have what they have."""

    rounds: tuple[int, ...] | None  # None: log-spaced
    runs: int

    def probes(self, cell: Cell) -> tuple[int, ...]:
        """The rounds of a cell that are looked into."""
        if not self.runs or "sampler" not in cell.parts:
            return ()
        if self.rounds is not None:
            return tuple(t for t in self.rounds if t <= cell.rounds)
        return tuple(sorted({round(float(t)) for t in np.geomspace(1, cell.rounds, LOG_SPACED)}))


@dataclass(frozen=True)
class Launcher:
    """A Dask cluster, and how a study is cut for it."""

    address: str | None  # None: workers on this machine
    workers: int
    slice: int  # runs that go to a worker together
    devices: int | None  # of a worker


@dataclass(frozen=True)
class Study:
    """A question, and the cells that answer it."""

    name: str
    title: str
    question: str
    cells: tuple[Cell, ...]
    output: str | None
    precision: str
    diagnostics: Diagnostics
    comparison: Comparison
    devices: int | None = None  # None: all there are
    launcher: Launcher | None = None  # None: this machine
    processes: int | None = None  # on this machine; None: as many as serve
    command: str = ""  # the words that asked for it


def study_names() -> list[str]:
    """The studies there are, the default one first."""
    names = sorted(path.parent.name for path in STUDIES.glob("*/study.yaml"))
    return sorted(names, key=lambda name: name != DEFAULT)


def read_study(name: str) -> dict[str, Any]:
    """A study's file as plain data."""
    if name not in study_names():
        raise InputError(
            f"unknown study {name!r}{did_you_mean(name, study_names())}; valid: {', '.join(study_names())}"
        )
    data = OmegaConf.to_container(OmegaConf.load(STUDIES / name / "study.yaml"))
    assert isinstance(data, dict)
    study = {str(key): value for key, value in data.items()}
    if "algorithms" in study:  # in every one of its worlds
        study["grids"] = [world | algorithm for algorithm in study["algorithms"] for world in study["worlds"]]
    return study


def resolve(words: Sequence[str]) -> Study:
    """The study that the words of a command line ask for. Raises InputError with one clear line."""
    said = parse(words)
    options = {key: _single(key, said.pop(key)) for key in OPTIONS if key in said}
    asked = {key.partition(".")[2]: said.pop(key) for key in DIAGNOSTICS if key in said}
    name = str(options.get("study") or DEFAULT)
    data = read_study(name)
    precision = options.get("precision") or "float64"
    if precision not in PRECISIONS:
        raise InputError(f"precision={precision!r} is not one of: {', '.join(PRECISIONS)}")
    bounds = options.get("bounds", data.get("bounds", False))
    if not isinstance(bounds, bool):
        raise InputError(f"bounds={bounds!r} must be true or false")
    names = [grid.pop("name", None) for grid in data["grids"]]
    if bounds and data.get("sweep") and not any(names):
        raise InputError(
            f"bounds=true: study={name} goes along {data['sweep']} and draws no regret over rounds"
        )
    written = [_whole(grid) for grid in data["grids"]]
    check_keys(said, [grid | said for grid in written], {*OPTIONS, *DIAGNOSTICS, *NUMBERS}, _defaults())
    said["precision"] = [precision]
    diagnostics = _diagnostics(asked, data.get("diagnostics", {}))
    cells: dict[str, Cell] = {}
    entries: dict[str, AlgorithmRun] = {}
    for algorithm, grid in zip(names, written, strict=True):
        members = expand(grid | said)
        cells |= {cell.id: cell for cell in members if cell.id not in cells}
        if algorithm is not None:
            parts = _algorithm_runs(algorithm, members, grid, said, data.get("sweep"))
            entries |= {key: entry for key, entry in parts.items() if key not in entries}
    check_used(said, cells.values())
    longest = max(cell.rounds for cell in cells.values())
    late = [t for t in asked.get("rounds", []) if t is not None and t > longest]
    if late:
        raise InputError(f"diagnostics.rounds={late[0]} is past the last round, {longest}")
    thinned = [cell.record_every for cell in cells.values() if cell.record_every > 1]
    if thinned and diagnostics.runs:
        raise InputError(
            f"record_every={thinned[0]} needs diagnostics.runs=0: rounds are looked into one by one"
        )
    output = options.get("output")
    found = tuple(cells.values())
    title, question = asked_for.heading(data, said, written, found, named=name != DEFAULT)
    return Study(
        name,
        title,
        question,
        found,
        None if output is None else str(output),
        precision,
        diagnostics,
        Comparison(data.get("sweep"), bounds, tuple(data.get("choices", ())), entries),
        _whole_number(options, "devices", None),
        _launcher(options),
        _whole_number(options, "processes", None),
        asked_for.command(words),
    )


def _launcher(options: Mapping[str, Any]) -> Launcher | None:
    name = options.get("launcher", LAUNCHERS[0])
    if name not in LAUNCHERS:
        raise InputError(f"launcher={name!r} is not one of: {', '.join(LAUNCHERS)}")
    workers, width = (
        _whole_number(options, f"launcher.{key}", n) for key, n in (("workers", 2), ("slice", 50))
    )
    if name == LAUNCHERS[0]:
        unused = [key for key in LAUNCHER if key in options]
        if unused:
            raise InputError(f"{unused[0]} is a setting of launcher=dask")
        return None
    assert workers is not None
    assert width is not None
    address = options.get("launcher.address")
    devices = _whole_number(options, "devices", None)
    return Launcher(None if address is None else str(address), workers, width, devices)


def _whole_number(options: Mapping[str, Any], key: str, usual: int | None) -> int | None:
    value = options.get(key, usual)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise InputError(f"{key}={value!r} must be a whole number, at least 1")
    return value


def _algorithm_runs(
    name: str, cells: Sequence[Cell], written: Grid, said: Grid, sweep: str | None
) -> dict[str, AlgorithmRun]:
    """The parts that the cells of a named grid play.

    A setting for which the study's file has several values is a hyperparameter, and the first value is the
    textbook's; except settings of the environment, the numbers, and the setting along which the study goes.
    """
    fixed = (*NUMBERS, sweep)
    hyperparameters = {
        key: values[:1]
        for key, values in written.items()
        if len(values) > 1 and key not in fixed and not key.startswith("environment")
    }
    textbook = {cell.id for cell in expand(written | said | hyperparameters)}
    return {
        cell.id: AlgorithmRun(
            name, tuple(key for key in hyperparameters if key in cell.flat), cell.id in textbook
        )
        for cell in cells
    }


def _whole(grid: Mapping[str, Any]) -> Grid:
    """A study's grid as it is written; `all` stands for every member of a group."""
    return {key: _all(key) if values == "all" else list(values) for key, values in grid.items()}


def _all(group: str) -> list[str]:
    """Every member of a group, those apart that are wrong on purpose."""
    return [name for name, cls in GROUPS[group] if group != "sampler" or cls.info.family != "control"]


def parse(words: Sequence[str]) -> Grid:
    """`key=value` words as a grid; a later word for the same key replaces an earlier one."""
    grid: Grid = {}
    for word in words:
        key, _, text = word.partition("=")
        if key in PATHS:
            grid[key] = [_path(key, text)]
            continue
        try:
            (override,) = OverridesParser.create().parse_overrides([word])
        except HydraException:
            raise InputError(f"cannot read {word!r}: write key=value, or key=a,b,c for a grid") from None
        if override.type is not OverrideType.CHANGE or override.package is not None:
            raise InputError(f"cannot read {word!r}: write key=value, without a sign or a package")
        grid[override.key_or_group] = _values(override, word)
    return grid


def _path(key: str, text: str) -> str | None:
    """A path as it stands: it may hold commas, brackets, blanks."""
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
    path = text[1:-1] if quoted else text
    if not path or "${" in path:
        raise InputError(f"cannot use {key}={text}: say a path")
    return None if text == "null" else path


def _values(override: Override, word: str) -> list[Any]:
    try:
        swept = override.sweep_iterator() if override.is_sweep_override() else iter([override.value()])
        raw = list(itertools.islice(swept, MOST_CELLS + 1))
    except (HydraException, ValueError, TypeError):
        raise InputError(f"cannot read the values of {word!r}") from None
    values = [value.text if isinstance(value, QuotedString) else value for value in raw]
    if not values or any(isinstance(value, dict | list) or "${" in str(value) for value in values):
        raise InputError(f"cannot use {word!r}: a value is a name, a number, true, false or null")
    return values


def _single(key: str, values: list[Any]) -> Any:
    if len(values) != 1:
        raise InputError(f"{key} takes one value, not {len(values)}")
    return values[0]


def _diagnostics(said: Mapping[str, list[Any]], usual: Mapping[str, Any]) -> Diagnostics:
    rounds = said.get("rounds", usual.get("rounds"))
    rounds = None if rounds in (None, [None]) else rounds
    runs = _single("diagnostics.runs", said.get("runs", [usual.get("runs", 0)]))
    for key, least, values in (("runs", 0, [runs]), ("rounds", 1, rounds or [])):
        for value in values:
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InputError(f"diagnostics.{key}={value!r} must be whole numbers, at least {least}")
    return Diagnostics(None if rounds is None else tuple(sorted(set(rounds))), runs)


@lru_cache(maxsize=1)
def _written_defaults() -> dict[str, Any]:
    data = OmegaConf.to_container(OmegaConf.load(DEFAULTS))
    assert isinstance(data, dict)
    return {str(key): value for key, value in data.items()}


def _defaults() -> dict[str, list[Any]]:
    """The member of each group that is chosen if none is named."""
    return {group: [_written_defaults()[group]] for group in GROUPS}


def expand(grid: Grid) -> list[Cell]:
    """All cells of a grid, in the order in which the keys were written."""
    keys = list(grid)
    if math.prod(map(len, grid.values())) > MOST_CELLS:
        raise InputError(
            f"a grid of more than {MOST_CELLS} cells: {', '.join(k for k in keys if len(grid[k]) > 1)}"
        )
    cells: dict[str, Cell] = {}
    for values in itertools.product(*grid.values()):
        cell = _cell(dict(zip(keys, values, strict=True)))
        cells.setdefault(cell.id, cell)
    return list(cells.values())


def _cell(chosen: Mapping[str, Any]) -> Cell:
    """One cell. A setting of a member that was not chosen here (but elsewhere in the grid) is passed over."""
    members = {group: str(chosen.get(group, _defaults()[group][0])) for group in GROUPS}
    groups = needed_groups(members)
    parts = {}
    for group, registry in GROUPS.items():
        values = below(group, chosen)
        known = registry.defaults(members[group], values)
        settings = {key: value for key, value in values.items() if key in known}
        registry.build(members[group], settings)
        if group in groups:
            parts[group] = {"name": members[group], **known, **settings}
    numbers = {name: chosen.get(name, _written_defaults()[name]) for name in NUMBERS}
    cell = Cell(parts, **numbers, precision=chosen.get("precision", PRECISIONS[0]))
    cell.check_numbers()
    return cell
