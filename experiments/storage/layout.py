"""The files of an output folder by name. Nothing here imports JAX."""

from pathlib import Path

from samplers.errors import InputError

CONFIG, RESULTS = "config.yaml", "results.nc"


def check_finished(folder: Path) -> None:
    """Raises InputError for anything but the output folder of a finished run."""
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; give the output folder of a run")
    for name in (CONFIG, RESULTS):
        if not (folder / name).is_file():
            raise InputError(f"{folder} has no {name}: not the output folder of a finished run")
