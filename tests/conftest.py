"""JAX as the tests use it: float64, two host devices, compiled programs kept between sessions, types checked."""

import os
from pathlib import Path

import jax
import pytest
from helpers import runtime_types

# Both before the package is first imported, which configures JAX for the machine it is on. `make clean` removes the
# folder, git ignores it.
os.environ.setdefault("FGTSVA_CACHE", str(Path(__file__).parents[1] / ".pytest_cache" / "d" / "fgtsva"))
os.environ.setdefault("FGTSVA_PROCESSES", "1")  # no worker processes, unless a test asks for them
jax.config.update("jax_num_cpu_devices", 2)
jax.devices()
runtime_types.install()


def pytest_configure(config: pytest.Config) -> None:
    import fgtsva_ppl  # noqa: F401

    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    # JAX writes cache entries in place: a parallel worker may read half of one, and then compiles for itself.
    config.addinivalue_line(
        "filterwarnings", "ignore:Error reading persistent compilation cache entry:UserWarning"
    )


def pytest_runtest_setup() -> None:
    runtime_types.check_named_tuples()


def pytest_runtest_teardown() -> None:
    from fgtsva_ppl import jax_config

    jax_config.release_programs()
