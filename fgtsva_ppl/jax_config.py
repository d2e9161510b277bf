"""JAX configuration of this package: float64, one host device per core, persistent compilation cache."""

import contextlib
import gc
import os
from pathlib import Path

import jax
import scipy.linalg.cython_lapack  # noqa: F401 (loads the library that JAX calls)
from threadpoolctl import ThreadpoolController

MAX_MEMORY_MAPS = 30_000  # Linux ends a process that needs more than 65,530 (vm.max_map_count)


def cache_folder() -> Path:
    """Folder of compiled programs and downloaded data: $FGTSVA_CACHE, or `fgtsva` in the user's cache folder."""
    override = os.environ.get("FGTSVA_CACHE")
    user_cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(override) if override else user_cache / "fgtsva"


def configure(precision: str = "float64", devices: int | None = None) -> None:
    """Configures JAX.

    Args:
        precision: `float64`, or `float32`, in which precision matrices of many rounds may lose positive definiteness.
        devices: Number of host devices, one per core by default. It has no effect once JAX has been used.
    """
    jax.config.update("jax_enable_x64", precision == "float64")
    _use_one_lapack_thread()
    with contextlib.suppress(RuntimeError):  # raised if the backend is already initialized
        jax.config.update("jax_num_cpu_devices", devices or cores())
    folder = cache_folder() / "programs"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return  # without a writable cache, programs are compiled again in every process
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def _use_one_lapack_thread() -> None:
    """Makes the LAPACK that JAX calls, which is SciPy's, use a single thread.

    The devices use all cores already. Threads of OpenBLAS beside them make a triangular solve of 100 rows 30 times
    slower. NumPy has a library of its own, which keeps its threads.
    """
    libraries = [one for one in ThreadpoolController().lib_controllers if one.user_api == "blas"]
    own = [one for one in libraries if Path(one.filepath).parent.name.startswith("scipy")]
    for library in own or libraries:
        library.set_num_threads(1)


def cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def release_programs(limit: int = MAX_MEMORY_MAPS) -> bool:
    """Drops all compiled programs if they hold too many memory maps; what is needed again is read from the cache.

    Every compiled program holds some ten memory maps. A process that runs into the system's limit is killed without a
    message, so long studies call this after each cell.

    Args:
        limit: Number of memory maps of this process from which on programs are dropped.

    Returns:
        Whether they were dropped.
    """
    if memory_maps() < limit:
        return False
    jax.clear_caches()
    gc.collect()
    return True


def memory_maps() -> int:
    """Number of memory maps of this process; 0 where the system does not tell."""
    try:
        return Path("/proc/self/maps").read_bytes().count(b"\n")
    except OSError:
        return 0
