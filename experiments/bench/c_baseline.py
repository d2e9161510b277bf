"""The same loop in C, compiled on first use if there is a compiler."""

import ctypes
import hashlib
import os
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path

import jax
import numpy as np
from jaxtyping import Float

from fgtsva_ppl.jax_config import cache_folder

SOURCE = Path(__file__).parent / "langevin.c"
FLAGS = ("-O3", "-fopenmp", "-shared", "-fPIC")


def compiler() -> str | None:
    """Path of a C compiler, or None."""
    return next((path for name in ("cc", "gcc", "clang") if (path := shutil.which(name))), None)


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL | None:
    """The compiled loop, or None if it cannot be built."""
    path = compiler()
    if path is None:
        return None
    digest = hashlib.sha256(SOURCE.read_bytes() + " ".join((path, *FLAGS)).encode()).hexdigest()[:16]
    target = cache_folder() / "native" / f"langevin-{digest}.so"
    if not target.exists():
        partial = target.with_suffix(f".{os.getpid()}.part")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            command = [path, *FLAGS, "-o", str(partial), str(SOURCE), "-lm"]
            subprocess.run(command, check=True, capture_output=True)
            partial.replace(target)
        except (OSError, subprocess.CalledProcessError):  # for example without OpenMP
            return None
    return ctypes.CDLL(str(target))


def gradient(
    actions: Float[np.ndarray, "arms dim"],
    precision: Float[np.ndarray, "dim dim"],
    shift: Float[np.ndarray, " dim"],
    lam: float,
    theta: Float[np.ndarray, " dim"],
) -> Float[np.ndarray, " dim"]:
    """grad log p(theta) = shift - P theta + lam a_best."""
    out = np.empty_like(theta)
    arrays = [_pointer(array) for array in (actions, precision, shift)]
    dim, arms = ctypes.c_int(actions.shape[1]), ctypes.c_int(actions.shape[0])
    _loaded().gradient(dim, arms, *arrays, ctypes.c_double(lam), _pointer(theta), _pointer(out))
    return out


def largest(matrix: Float[np.ndarray, "dim dim"]) -> float:
    """The largest eigenvalue of a symmetric matrix, which sets the step size."""
    function = _loaded().largest
    function.restype = ctypes.c_double
    value: float = function(ctypes.c_int(len(matrix)), _pointer(matrix))
    return value


def langevin(
    actions: Float[np.ndarray, "arms dim"],
    *,
    runs: int,
    rounds: int,
    steps: int,
    size: float,
    c: float,
    p: float,
    seed: int,
) -> Float[np.ndarray, " runs"]:
    """Final regrets of all runs."""
    out = np.empty(runs)
    arms, dim = actions.shape
    whole = [ctypes.c_int(number) for number in (runs, rounds, steps)]
    real = [ctypes.c_double(number) for number in (size, c, p)]
    _loaded().langevin(
        ctypes.c_int(dim),
        ctypes.c_int(arms),
        _pointer(actions),
        *whole,
        *real,
        ctypes.c_uint64(seed),
        ctypes.c_int(len(jax.devices())),  # the cores that our own loop has
        _pointer(out),
    )
    return out


def _loaded() -> ctypes.CDLL:
    compiled = library()
    assert compiled is not None
    return compiled


def _pointer(array: np.ndarray) -> ctypes.c_void_p:
    assert array.dtype == np.float64
    assert array.flags.c_contiguous
    return ctypes.c_void_p(array.ctypes.data)
