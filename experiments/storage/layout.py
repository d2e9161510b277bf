"""The files of an output folder by name. Nothing here imports JAX."""

from collections.abc import Iterator
from pathlib import Path

from samplers.errors import InputError

CONFIG, RESULTS, CELLS = "config.yaml", "results.nc", "cells"


def check_readable(folder: Path) -> None:
    """Raises InputError for anything but the output folder of a run with at least one finished cell."""
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; give the output folder of a run")
    if not (folder / CONFIG).is_file():
        raise InputError(f"{folder} has no {CONFIG}: not the output folder of a run")
    if not (folder / RESULTS).is_file() and not any(finished_cells(folder)):
        raise InputError(f"{folder} has no {RESULTS}, and no cell in it is finished")


def finished_cells(folder: Path) -> Iterator[Path]:
    """The files of the cells that a running or interrupted study has finished."""
    return (path for path in (folder / CELLS).glob("*.nc") if "." not in path.stem)
