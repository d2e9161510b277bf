"""The status of a computed cell."""

import re
from typing import NamedTuple

import numpy as np
import xarray as xr

from experiments.storage.codecs import values

TAIL = 0.1  # a sampler that is not finite in any of this share of last rounds has not recovered
MAX_REASON = 200  # characters


class CellStatus(NamedTuple):
    """Whether a cell has valid results.

    Attributes:
        status: `done`; `diverged`: there are results, but its sampler failed; `failed`: there are no results.
        reason: One line; empty for `done`.
    """

    status: str
    reason: str = ""


DONE = CellStatus("done")


def status_of_exception(error: Exception) -> CellStatus:
    """A failed cell, with the first line of the error.

    An error in a Python callback is reported by JAX as a traceback, whose last line has the message.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"[A-Za-z_.]*(Error|Exception)\b.*", line)]
    if any(line.startswith("Traceback") or "Traceback (most" in line for line in lines) and errors:
        return CellStatus("failed", errors[-1][:MAX_REASON])
    first = lines[0] if lines else ""
    return CellStatus("failed", f"{type(error).__name__}{': ' if first else ''}{first}"[:MAX_REASON])


def status_of_rounds(rounds: xr.DataTree) -> CellStatus:
    """The status of a cell that was simulated to the end.

    Args:
        rounds: The stored rounds, with variables (run, round).
    """
    regret, num_resets = values(rounds, "regret"), values(rounds, "num_resets")
    runs, length = regret.shape
    not_finite = int(np.sum(~np.isfinite(regret).all(axis=1)))
    if not_finite:
        return CellStatus("failed", f"the regret of {not_finite} of {runs} runs is not finite")
    num_resets = num_resets / values(rounds, "round")[0]  # per round of a recorded block
    tail = max(1, int(TAIL * length))
    lost = int(np.sum((num_resets[:, -tail:] == 1).all(axis=1) | (num_resets.mean(axis=1) > 0.5)))
    if lost:
        return CellStatus(
            "diverged",
            f"{lost} of {runs} runs had no finite draw in most of their rounds, or in any of the last ones",
        )
    outside_support = int(np.sum(values(rounds, "outside_support")))
    if outside_support:
        return CellStatus(
            "diverged",
            f"{outside_support} of {runs} runs ended where the log-density is -inf or not a number",
        )
    return DONE
