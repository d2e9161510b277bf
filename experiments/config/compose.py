"""Studies from command-line overrides."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from experiments.config import titles
from experiments.config.cell import Cell
from experiments.config.comparison import AlgorithmRun, Comparison
from experiments.config.grid import expand
from experiments.config.keys import BACKEND, BACKENDS, NUMBERS, Grid
from experiments.config.overrides import positive_int, single
from experiments.config.request import Request, parse_request
from experiments.config.study import DaskBackend, Diagnostics, Study
from experiments.config.study_files import DEFAULT
from fgtsva_ppl.jax_config import PRECISIONS
from samplers.errors import InputError


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
    precision, bounds = _precision(options), _bounds(request)
    settings: Grid = request.settings | {"precision": [precision]}
    diagnostics = _diagnostics(request.diagnostics, file.get("diagnostics", {}))
    cells: dict[str, Cell] = {}
    algorithm_runs: dict[str, AlgorithmRun] = {}
    for algorithm, grid in zip(request.algorithms, request.grids, strict=True):
        expanded = expand(grid | settings)
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
        Comparison(file.get("sweep"), bounds, tuple(file.get("choices", ())), algorithm_runs),
        positive_int(options, "devices", None),
        _backend(options),
        positive_int(options, "processes", None),
        titles.command(overrides),
    )


def _precision(options: Mapping[str, Any]) -> str:
    precision = options.get("precision") or PRECISIONS[0]
    if precision not in PRECISIONS:
        raise InputError(f"precision={precision!r} is not one of: {', '.join(PRECISIONS)}")
    return str(precision)


def _bounds(request: Request) -> bool:
    """Whether the theorem's bound is drawn, which needs a figure of regret over rounds."""
    bounds = request.options.get("bounds", request.file.get("bounds", False))
    if not isinstance(bounds, bool):
        raise InputError(f"bounds={bounds!r} must be true or false")
    sweep = request.file.get("sweep")
    if bounds and sweep and not any(request.algorithms):
        raise InputError(f"bounds=true: study={request.study} sweeps {sweep} and draws no regret over rounds")
    return bounds


def _backend(options: Mapping[str, Any]) -> DaskBackend | None:
    name = options.get("backend", BACKENDS[0])
    if name not in BACKENDS:
        raise InputError(f"backend={name!r} is not one of: {', '.join(BACKENDS)}")
    workers = positive_int(options, "backend.workers", 2)
    runs_per_task = positive_int(options, "backend.runs_per_task", 50)
    if name == BACKENDS[0]:
        unused = [key for key in BACKEND if key in options]
        if unused:
            raise InputError(f"{unused[0]} is a setting of backend=dask")
        return None
    assert workers is not None
    assert runs_per_task is not None
    address = options.get("backend.address")
    devices = positive_int(options, "devices", None)
    return DaskBackend(None if address is None else str(address), workers, runs_per_task, devices)


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
    rounds = None if rounds in (None, [None]) else rounds
    runs = single("diagnostics.runs", given.get("runs", [defaults.get("runs", 0)]))
    for key, least, values in (("runs", 0, [runs]), ("rounds", 1, rounds or [])):
        for value in values:
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InputError(f"diagnostics.{key}={value!r} must be whole numbers, at least {least}")
    return Diagnostics(None if rounds is None else tuple(sorted(set(rounds))), runs)


def _check_probes(given: Mapping[str, list[Any]], diagnostics: Diagnostics, cells: Collection[Cell]) -> None:
    """Raises InputError for probe rounds past the end, and for probes of rounds that are recorded in blocks."""
    longest = max(cell.rounds for cell in cells)
    late = [t for t in given.get("rounds", []) if t is not None and t > longest]
    if late:
        raise InputError(f"diagnostics.rounds={late[0]} is past the last round, {longest}")
    blocks = [cell.record_every for cell in cells if cell.record_every > 1]
    if blocks and diagnostics.runs:
        raise InputError(f"record_every={blocks[0]} needs diagnostics.runs=0: single rounds are probed")
