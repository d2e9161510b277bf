"""The cells of an output folder as digests of all that they hold but the time they took."""

import hashlib
from pathlib import Path

import numpy as np
import xarray as xr

TIMES = ("seconds", "compile_seconds")

# A small study, of which the bits are compared
OVERRIDES = (
    "environment=sparse",
    "sampler=exact,mala",
    "environment.dim=3",
    "rounds=120",
    "runs=6",
    "diagnostics.runs=0",
)


def results(folder: Path | str) -> dict[str, str]:
    with xr.open_datatree(Path(folder) / "results.nc", engine="h5netcdf") as tree:
        return {name: _timeless(cell.load()) for name, cell in tree["cells"].children.items()}


def _timeless(cell: xr.DataTree) -> str:
    for node in cell.subtree:
        node.attrs = {key: value for key, value in node.attrs.items() if key not in TIMES}
    return digest(cell)


def digest(tree: xr.DataTree) -> str:
    """A digest of everything in a tree: attributes, names, types, shapes and values."""
    hashed = hashlib.sha256()
    for group in sorted(tree.subtree, key=lambda node: node.path):
        data = group.to_dataset(inherit=False)
        for key in sorted(map(str, data.attrs)):
            hashed.update(f"{group.path}@{key}={np.asarray(data.attrs[key]).tolist()!r}".encode())
        for name in sorted(map(str, data.variables)):
            values = np.ascontiguousarray(data[name].values)
            hashed.update(f"{group.path}/{name}{data[name].dims}{values.shape}{values.dtype}".encode())
            hashed.update(values.tobytes())
    return hashed.hexdigest()
