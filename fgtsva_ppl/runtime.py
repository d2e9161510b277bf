"""How JAX is set up for this package: float64, one host device per core, compiled programs kept on disk."""

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

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


class Seconds(NamedTuple):
    """How long something took."""

    computing: float
    compiling: float  # and tracing


class Stopwatch:
    """Tells the time that compiled functions took to be traced and compiled from the time of everything else."""

    def __init__(self, before: Seconds = Seconds(0.0, 0.0)) -> None:  # noqa: B008 - it cannot change
        self._begin = time.perf_counter() - sum(before)
        self._compiling = before.compiling

    def watch(self, program: Any) -> Callable[..., Any]:
        """The same compiled function, timed where it compiles: such a call returns before it computes."""

        def watched(*args: Any, **kwargs: Any) -> Any:
            known, clock = program._cache_size(), time.perf_counter()
            result = program(*args, **kwargs)
            if program._cache_size() > known:
                self._compiling += time.perf_counter() - clock
            return result

        return watched

    def times(self) -> Seconds:
        """Seconds of computing and of compiling so far."""
        return Seconds(time.perf_counter() - self._begin - self._compiling, self._compiling)
