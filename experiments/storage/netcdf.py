"""Writes trees of labelled arrays as netCDF files, and reads them as HDF5: xarray is slow with hundreds of groups.

A file ends with a digest of the bytes before it, which HDF5 and xarray ignore. It is checked before the file is opened:
a single wrong bit can make HDF5 loop forever or crash the process.
"""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import h5netcdf
import h5py
import numpy as np
import xarray as xr
from jaxtyping import Shaped
from xarray.backends import H5NetCDFStore

from experiments.storage.errors import DamagedError

DIGEST_SIZE = hashlib.sha256().digest_size  # bytes at the end of a file
NO_VARIABLE = b"This is a netCDF dimension but not a netCDF variable"
INTERNAL = ("_NC", "_Netcdf4", "_nc3", "CLASS", "NAME", "REFERENCE_LIST", "DIMENSION_LIST")


def to_netcdf_bytes(tree: xr.DataTree) -> bytes:
    """A tree as the bytes of a netCDF file; HDF5 itself would crash the process on a full disk."""
    with h5py.File("tree", "w", driver="core", backing_store=False) as memory:
        with h5netcdf.File(memory, "w") as file:
            for node in tree.subtree:
                data = node.to_dataset(inherit=False).drop_encoding()
                for variable in data.variables.values():
                    variable.encoding = {"zlib": True, "complevel": 1} if variable.size > 64 else {}
                group = file if node.path == "/" else file.create_group(node.path)
                data.dump_to_store(H5NetCDFStore(group, lock=False, autoclose=False))
        memory.flush()
        return with_digest(bytes(memory.id.get_file_image()))


def with_digest(content: bytes) -> bytes:
    """The content with its digest appended."""
    return content + hashlib.sha256(content).digest()


def check_digest(path: Path) -> None:
    """Raises DamagedError if a file is not what was written."""
    content = memoryview(path.read_bytes())
    if hashlib.sha256(content[:-DIGEST_SIZE]).digest() != content[-DIGEST_SIZE:]:
        raise DamagedError(f"{path} is not what was written")


def from_netcdf(path: Path) -> xr.DataTree:
    """Reads a tree. Raises DamagedError if the file was changed, ValueError if it was not written by this package."""
    check_digest(path)
    with h5py.File(path) as file:
        check_links(file)
        return xr.DataTree.from_dict({name: dataset(group) for name, group in _groups(file)})


def _groups(group: h5py.Group) -> Iterator[tuple[str, h5py.Group]]:
    yield group.name, group
    for inner in group.values():
        if isinstance(inner, h5py.Group):
            yield from _groups(inner)


def check_links(group: h5py.Group) -> None:
    """Raises ValueError if a link points to another file."""
    for name in group:
        if isinstance(group.get(name, getlink=True), h5py.ExternalLink):
            raise ValueError(f"{name} points to another file")
        if isinstance(group[name], h5py.Group):
            check_links(group[name])


def dataset(group: h5py.Group) -> xr.Dataset:
    """The variables of a group; a variable named after its dimension is a coordinate."""
    items = {name: item for name, item in group.items() if isinstance(item, h5py.Dataset)}
    scales = {_address(item): name for name, item in items.items() if item.is_scale}
    return xr.Dataset(
        {
            name: (_dimensions(name, item, scales), _numbers(name, item))
            for name, item in items.items()
            if not (item.is_scale and bytes(item.attrs.get("NAME", b"")).startswith(NO_VARIABLE))
        },
        attrs=_attributes(group),
    )


def _attributes(group: h5py.Group) -> dict[str, Any]:
    """The attributes of a group, in plain types."""
    attributes = {name: group.attrs[name] for name in group.attrs if not name.startswith(INTERNAL)}
    return {
        name: value.item() if isinstance(value, np.ndarray) and value.size == 1 else value
        for name, value in attributes.items()
    }


def _numbers(name: str, item: h5py.Dataset) -> Shaped[np.ndarray, "..."]:
    """The values of a dataset. Data in another file are not read; objects are never written here."""
    if item.external or item.is_virtual or item.dtype.kind not in "biuf":
        raise ValueError(f"{name} is not an array of numbers")
    values = np.asarray(item[()])
    return values.astype(bool) if item.attrs.get("dtype") == "bool" else values


def _dimensions(name: str, item: h5py.Dataset, scales: Mapping[int, str]) -> tuple[str, ...]:
    """The names of a variable's dimensions, by address: to find a name, HDF5 would search the whole file."""
    if item.is_scale:
        return (name,)
    attached = (dimension[0] for dimension in item.dims)
    return tuple(scales.get(_address(scale)) or scale.name.rpartition("/")[2] for scale in attached)


def _address(item: h5py.Dataset) -> int:
    """The address of an object in its file."""
    return int(h5py.h5o.get_info(item.id).addr)
