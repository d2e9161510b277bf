"""Writes files in one step: a file is complete or absent."""

import os
import platform
import tempfile
from pathlib import Path

import xarray as xr

from experiments.storage.errors import DamagedError
from experiments.storage.netcdf import from_netcdf, to_netcdf_bytes

PARTIAL = ".part"  # suffix of files that are not complete yet


def read_tree(path: Path) -> xr.DataTree:
    """Reads a stored tree. Raises DamagedError if the file is not what was written."""
    try:
        return from_netcdf(path)
    except DamagedError:
        raise
    except Exception as error:  # a file that we did not write can fail in any way
        raise DamagedError(f"{path} cannot be read ({error})") from None


def write_tree(path: Path, tree: xr.DataTree) -> None:
    """Writes a tree as netCDF in one step."""
    write_atomically(path, to_netcdf_bytes(tree))


def write_atomically(path: Path, content: bytes) -> None:
    """Writes a file in one step."""
    partial = _partial_file(path)
    try:
        partial.write_bytes(content)
        _move(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _partial_file(path: Path) -> Path:
    """A new file in the same folder. Its name has the machine and the process that it belongs to."""
    suffix = f".{platform.node()}.{os.getpid()}{PARTIAL}"
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=suffix)
    os.close(handle)
    return Path(name)


def _move(partial: Path, path: Path) -> None:
    with open(partial, "rb") as file:
        os.fsync(file.fileno())
    partial.chmod(0o666 & ~_umask())
    os.replace(partial, path)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def remove_partial_files(folder: Path) -> None:
    """Removes the partial files of processes of this machine that no longer run."""
    for path in folder.glob(f"*.{platform.node()}.*{PARTIAL}"):
        owner = path.name.split(".")[-2]
        if owner.isdigit() and not _is_running(int(owner)):
            path.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
