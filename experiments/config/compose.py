"""Studies from command-line overrides."""

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from experiments.config import titles
from experiments.config.cell import GROUPS, Cell, needed_groups
from experiments.config.comparison import AlgorithmRun, Comparison
from experiments.config.keys import BACKENDS, MAX_CELLS, NUMBERS, PRECISIONS, Grid
from experiments.config.request import parse_request
from experiments.config.study import DaskBackend, Diagnostics, Study
from experiments.config.study_files import DEFAULT, read_defaults
from fgtsva_ppl.types import Environment
from samplers.errors import InputError
from samplers.settings import below


def compose(overrides: Sequence[str]) -> Study:
    """The study that a command line describes.

    Args:
        overrides: `key=value` strings in Hydra's override grammar; a comma makes a grid. Keys are options of the
            command (`study`, `output`, ...), numbers (`rounds`, `runs`, ...), groups (`sampler`, ...) and settings of
            the groups' members (`sampler.num_steps`).

    Returns:
        The study, each of its cells once.

    Raises:
        InputError: With one line that names the valid choices, for anything unknown or out of range.
    """
    request = parse_request(overrides)
    options, file = request.options, request.file
    precision = str(options.get("precision") or PRECISIONS[0])
    settings: Grid = request.settings | {"precision": [precision]}
    diagnostics = _diagnostics(request.diagnostics, file.get("diagnostics", {}))
    cells: dict[str, Cell] = {}
    algorithm_runs: dict[str, AlgorithmRun] = {}
    left_out: dict[str, None] = {}
    for algorithm, grid, optional in zip(request.algorithms, request.grids, request.optional, strict=True):
        expanded = expand(grid | settings)
        if optional and "environment" not in settings:  # one that is asked for is not left out
            missing = {cell.id: cell for cell in expanded if not cell.environment.installed}
            left_out |= dict.fromkeys(cell.flat["environment"] for cell in missing.values())
            expanded = [cell for cell in expanded if cell.id not in missing]
        cells |= {cell.id: cell for cell in expanded if cell.id not in cells}
        if algorithm is not None:
            runs = _algorithm_runs(algorithm, expanded, grid, settings, file.get("sweep"))
            algorithm_runs |= {key: run for key, run in runs.items() if key not in algorithm_runs}
    _check_probes(request.diagnostics, diagnostics, cells.values())
    output = options.get("output")
    all_cells = tuple(cells.values())
    title, question = titles.heading(file, settings, request.grids, all_cells, named=request.study != DEFAULT)
    return Study(
        request.study,
        title,
        question,
        all_cells,
        None if output is None else str(output),
        precision,
        diagnostics,
        Comparison(file.get("sweep"), request.bounds, tuple(file.get("choices", ())), algorithm_runs),
        options.get("devices"),
        _backend(options),
        options.get("processes"),
        titles.command(overrides),
        tuple(left_out),
    )


def _backend(options: Mapping[str, Any]) -> DaskBackend | None:
    if options.get("backend") in (None, BACKENDS[0]):
        return None
    address = options.get("backend.address")
    return DaskBackend(
        None if address is None else str(address),
        options.get("backend.workers") or 2,
        options.get("backend.runs_per_task") or 50,
        options.get("devices"),
    )


def _algorithm_runs(
    name: str, cells: Sequence[Cell], grid: Grid, settings: Grid, sweep: str | None
) -> dict[str, AlgorithmRun]:
    """How the cells of an algorithm's grid take part in the comparison, by cell.

    A setting for which the study's file has several values is a hyperparameter, and its first value is the textbook's;
    except settings of the environment, the numbers, and the setting that the study sweeps.
    """
    fixed = (*NUMBERS, sweep)
    hyperparameters = {
        key: values[:1]
        for key, values in grid.items()
        if len(values) > 1 and key not in fixed and not key.startswith("environment")
    }
    textbook = {cell.id for cell in expand(grid | settings | hyperparameters)}
    return {
        cell.id: AlgorithmRun(
            name, tuple(key for key in hyperparameters if key in cell.flat), cell.id in textbook
        )
        for cell in cells
    }


def _diagnostics(given: Mapping[str, list[Any]], defaults: Mapping[str, Any]) -> Diagnostics:
    rounds = given.get("rounds", defaults.get("rounds"))
    (runs,) = given.get("runs", [defaults.get("runs", 0)])
    return Diagnostics(None if rounds in (None, [None]) else tuple(sorted(set(rounds))), runs)


def _check_probes(given: Mapping[str, list[Any]], diagnostics: Diagnostics, cells: Collection[Cell]) -> None:
    """Raises InputError for probe rounds past the end, and for probes of rounds that are recorded in blocks."""
    longest = max(cell.rounds for cell in cells)
    late = [t for t in given.get("rounds", []) if t is not None and t > longest]
    if late:
        raise InputError(f"diagnostics.rounds={late[0]} is past the last round, {longest}")
    blocks = [cell.record_every for cell in cells if cell.record_every > 1]
    if blocks and diagnostics.runs:
        raise InputError(f"record_every={blocks[0]} needs diagnostics.runs=0: single rounds are probed")


def expand(grid: Grid) -> list[Cell]:
    """All different cells of a grid, in the order in which its keys are written."""
    keys = list(grid)
    if math.prod(map(len, grid.values())) > MAX_CELLS:
        raise InputError(
            f"a grid of more than {MAX_CELLS} cells: {', '.join(k for k in keys if len(grid[k]) > 1)}"
        )
    cells: dict[str, Cell] = {}
    for values in itertools.product(*grid.values()):
        cell = _cell(dict(zip(keys, values, strict=True)))
        cells.setdefault(cell.id, cell)
    return list(cells.values())


def _environment(chosen: Mapping[str, Any]) -> Environment:
    """The environment that was chosen, or the default one."""
    name, values = (
        str(chosen.get("environment", read_defaults()["environment"])),
        below("environment", chosen),
    )
    registry = GROUPS["environment"]
    known = registry.defaults(name, values)
    environment: Environment = registry.build(
        name, {key: value for key, value in values.items() if key in known}
    )
    return environment


def _cell(chosen: Mapping[str, Any]) -> Cell:
    """One cell. A setting of a member that was chosen elsewhere in the grid, but not here, is ignored.

    What is not chosen has the value that the environment recommends, else the default.
    """
    chosen = {**_environment(chosen).recommended, **chosen}
    members = {group: str(chosen.get(group, read_defaults()[group])) for group in GROUPS}
    groups, parts = needed_groups(members), {}
    for group, registry in GROUPS.items():
        values = below(group, chosen)
        defaults = registry.defaults(members[group], values)
        settings = {key: value for key, value in values.items() if key in defaults}
        registry.build(members[group], settings)
        if group in groups:
            parts[group] = {"name": members[group], **defaults, **settings}
    numbers = {name: chosen.get(name, read_defaults()[name]) for name in NUMBERS}
    cell = Cell(parts, **numbers, precision=chosen.get("precision", PRECISIONS[0]))
    cell.check_numbers()
    return cell
