"""Cells from grids of settings."""

import itertools
import math
from collections.abc import Mapping
from typing import Any

from experiments.config.cell import GROUPS, Cell, needed_groups
from experiments.config.keys import MAX_CELLS, NUMBERS, Grid
from experiments.config.study_files import read_defaults
from fgtsva_ppl.jax_config import PRECISIONS
from samplers.errors import InputError
from samplers.settings import below


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


def _cell(chosen: Mapping[str, Any]) -> Cell:
    """One cell. A setting of a member that was chosen elsewhere in the grid, but not here, is ignored."""
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
