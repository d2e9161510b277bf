"""Validates what users pass to `ask` and `tell`."""

from typing import Any

import numpy as np
from jaxtyping import Float

from samplers.errors import InputError


def feature_matrix(features: Any) -> Float[np.ndarray, "arms dim"]:
    """Features as a matrix of finite numbers, one row for each arm."""
    try:
        matrix = np.asarray(features, dtype=float)
    except (TypeError, ValueError):
        raise InputError("features must be numbers, a row for each arm") from None
    if matrix.ndim != 2 or not matrix.size or not np.all(np.isfinite(matrix)):
        raise InputError(
            f"features must be finite numbers, a row for each arm; they have shape {matrix.shape}"
        )
    return matrix


def finite_number(value: Any, name: str) -> float:
    """A finite number, called `name` in messages."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name}={value!r} must be a number") from None
    if not np.isfinite(number):
        raise InputError(f"{name}={value!r} must be finite")
    return number


def standard_deviation(sigma: Any, verb: str) -> float:
    """A standard deviation that `verb` (ask or tell) cannot do without."""
    if sigma is None:
        raise InputError(
            f"{verb} needs sigma, the standard deviation of the round's noise; where it is never known, "
            "use FGTSVA(variance='estimated') or another posterior"
        )
    deviation = finite_number(sigma, "sigma")
    if deviation < 0:
        raise InputError(f"sigma={sigma!r} must not be negative")
    return deviation
