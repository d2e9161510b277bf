"""What became of a cell: a word and, unless all is well, a line that says why."""

import re
from typing import NamedTuple

import numpy as np
import xarray as xr

from experiments.storage.folder import values

TAIL = 0.1  # a sampler that is not finite in any of the last so many rounds has not come back
LONGEST = 200  # characters of a reason


class Status(NamedTuple):
    """`done`; `diverged`: there are numbers, but they are not those of a sampler; `failed`: there are none."""

    word: str
    reason: str = ""


DONE = Status("done")


def raised(error: Exception) -> Status:
    """What an exception says, in one line. One that comes from a callback into Python tells its own at the end."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    called_back = [line for line in lines if re.match(r"[A-Za-z_.]*(Error|Exception)\b.*", line)]
    if any(line.startswith("Traceback") or "Traceback (most" in line for line in lines) and called_back:
        return Status("failed", called_back[-1][:LONGEST])
    first = lines[0] if lines else ""
    return Status("failed", f"{type(error).__name__}{': ' if first else ''}{first}"[:LONGEST])


def judged(rounds: xr.DataTree) -> Status:
    """What is to be said of rounds that were played to their end."""
    regret, num_resets = values(rounds, "regret"), values(rounds, "num_resets")
    runs, length = regret.shape
    wrong = int(np.sum(~np.isfinite(regret).all(axis=1)))
    if wrong:
        return Status("failed", f"the regret of {wrong} of {runs} runs is not finite")
    num_resets = num_resets / values(rounds, "round")[0]  # of the rounds that are kept together
    tail = max(1, int(TAIL * length))
    gone = int(np.sum((num_resets[:, -tail:] == 1).all(axis=1) | (num_resets.mean(axis=1) > 0.5)))
    if gone:
        return Status(
            "diverged",
            f"{gone} of {runs} runs had no finite draw in most of their rounds, or in any of the last ones",
        )
    outside_support = int(np.sum(values(rounds, "outside_support")))
    if outside_support:
        return Status(
            "diverged",
            f"{outside_support} of {runs} runs ended where the log-density is -inf or not a number",
        )
    return DONE
