"""A command line, parsed and checked against the catalogue before anything heavy is imported."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.config.catalogue import Catalogue, load_catalogue
from experiments.config.keys import DIAGNOSTICS, OPTIONS, Grid
from experiments.config.overrides import parse, single
from experiments.config.study_files import DEFAULT, read_study
from experiments.config.validate import (
    check_bounds,
    check_diagnostics,
    check_flag,
    check_options,
    check_settings,
)


@dataclass(frozen=True)
class Request:
    """What a command line specifies, and the file of the study that it names.

    Attributes:
        study: The name of the study.
        file: The study's file.
        options: Options of the command, such as `output`.
        bounds: Whether the theorem's bound is drawn.
        diagnostics: Values of the keys after `diagnostics.`
        settings: Overrides of the cells' settings.
        grids: The grids of the study's file, without the overrides.
        algorithms: For each grid the name of its algorithm, or None.
        optional: For each grid whether environments are left out whose data are not installed.
    """

    study: str
    file: Mapping[str, Any]
    options: Mapping[str, Any]
    bounds: bool
    diagnostics: Mapping[str, list[Any]]
    settings: Grid
    grids: tuple[Grid, ...]
    algorithms: tuple[str | None, ...]
    optional: tuple[bool, ...]


def parse_request(overrides: Sequence[str]) -> Request:
    """Parses a command line. Raises InputError for unknown names and keys, and for values that are wrong on their own.

    Args:
        overrides: `key=value` strings in Hydra's override grammar.
    """
    settings = parse(overrides)
    options = {key: single(key, settings.pop(key)) for key in OPTIONS if key in settings}
    diagnostics = {key.partition(".")[2]: settings.pop(key) for key in DIAGNOSTICS if key in settings}
    check_options(options)
    study = str(options.get("study") or DEFAULT)
    quick = options.get("quick", False)
    check_flag("quick", quick)
    file, catalogue = read_study(study, quick=quick), load_catalogue()
    algorithms = tuple(grid.pop("name", None) for grid in file["grids"])
    optional = tuple(bool(grid.pop("if_installed", False)) for grid in file["grids"])
    grids = tuple(_expand_all(grid, catalogue) for grid in file["grids"])
    check_settings(settings, [grid | settings for grid in grids], catalogue)
    bounds = options.get("bounds", file.get("bounds", False))
    check_bounds(bounds, study, file.get("sweep"), algorithms=any(algorithms))
    check_diagnostics(diagnostics)
    return Request(study, file, options, bounds, diagnostics, settings, grids, algorithms, optional)


def _expand_all(grid: Mapping[str, Any], catalogue: Catalogue) -> Grid:
    """A study's grid; `all` is replaced by every member of a group, except negative controls."""
    return {
        key: [name for name, member in catalogue[key].items() if member.info.get("family") != "control"]
        if values == "all"
        else list(values)
        for key, values in grid.items()
    }
