"""The cells of an output folder as digests of all that they hold but the time they took."""

from pathlib import Path

import xarray as xr

from experiments.store import digest

TIMES = ("seconds", "compile_seconds", "digest")


def results(folder: Path | str) -> dict[str, str]:
    with xr.open_datatree(Path(folder) / "results.nc", engine="h5netcdf") as tree:
        return {name: _timeless(cell.load()) for name, cell in tree["cells"].children.items()}


def _timeless(cell: xr.DataTree) -> str:
    for node in cell.subtree:
        node.attrs = {key: value for key, value in node.attrs.items() if key not in TIMES}
    return digest(cell)
