"""How JAX is set up for this package: float64, one host device per core, compiled programs kept on disk."""

import contextlib
import os
from pathlib import Path

import jax

PRECISIONS = ("float64", "float32")


def cache_folder() -> Path:
    """Where compiled programs are kept: $FGTSVA_CACHE, or the user's cache folder."""
    named = os.environ.get("FGTSVA_CACHE")
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(named) if named else base / "fgtsva"


def configure(precision: str = "float64", devices: int | None = None) -> None:
    """Sets JAX up. The number of host devices is only taken before JAX is first used."""
    jax.config.update("jax_enable_x64", precision == "float64")
    with contextlib.suppress(RuntimeError):  # the backend may be running already, with the devices it has
        jax.config.update("jax_num_cpu_devices", devices or cores())
    folder = cache_folder() / "programs"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return  # a read-only home costs compile time, nothing else
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
