"""The status of a cell: whether its sampler moved and stayed finite. Thresholds are in README.md."""

import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Float, Num

from experiments.storage.codecs import values

TAIL = 0.1  # a sampler that is not finite in any of this share of last rounds has not recovered
MAX_REASON = 200  # characters
# A run is judged by the second half of its rounds, when a sampler has had time to reach the posterior.
JUDGED = 0.5
MIN_ACCEPTANCE = 0.01  # mean acceptance probability below which nothing is accepted
MAX_DIVERGENT = 0.05  # share of transitions that diverge
MAX_REPEATS = 0.95  # share of rounds whose draw is the position of the round before


class CellStatus(NamedTuple):
    """Whether a cell has valid results.

    Attributes:
        status: `done`; `diverged`: there are results, but its sampler failed or often diverged; `stuck`: there are
            results, but its sampler hardly moved; `failed`: there are no results.
        reason: One line, with the next thing to try; empty for `done`.
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


def status_of_rounds(
    rounds: xr.DataTree, *, num_transitions: int = 1, is_control: bool = False
) -> CellStatus:
    """The status of a cell that was simulated to the end.

    Args:
        rounds: The stored rounds, with variables (run, round).
        num_transitions: Transitions of the sampler in a round.
        is_control: Whether the sampler is a negative control, which may repeat its draws on purpose.
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
    judged = slice(int((1 - JUDGED) * length), None)
    recorded = {name: values(rounds, name)[:, judged] for name in MOVES if name in rounds.data_vars}
    moves = Moves.of(recorded, int(values(rounds, "round")[0]), num_transitions)
    return status_of_moves(moves, is_control=is_control)


MOVES = ("acceptance_rate", "num_divergent", "num_repeats")  # what a sampler's moves are judged by


class Moves(NamedTuple):
    """How the sampler of each run moved in some rounds.

    Attributes:
        acceptance_rate: Mean acceptance probability; NaN for samplers without an accept step.
        divergent: Share of transitions that diverged.
        repeats: Share of rounds whose draw is the position of the round before; NaN if that was not recorded.
    """

    acceptance_rate: Float[np.ndarray, " runs"]
    divergent: Float[np.ndarray, " runs"]
    repeats: Float[np.ndarray, " runs"]

    @classmethod
    def of(
        cls, recorded: Mapping[str, Num[np.ndarray, "runs records"]], record_every: int, num_transitions: int
    ) -> "Moves":
        """Computed from recorded quantities; counts are sums over `record_every` rounds."""
        acceptance = np.asarray(recorded["acceptance_rate"], float)
        unknown = np.full(acceptance.shape, np.nan)  # stored by an earlier version
        return cls(
            acceptance.mean(axis=1),
            np.mean(recorded["num_divergent"], axis=1) / (record_every * num_transitions),
            np.mean(recorded.get("num_repeats", unknown), axis=1) / record_every,
        )


def status_of_moves(moves: Moves, *, is_control: bool = False) -> CellStatus:
    """Whether the sampler moved; a run that fails is enough. See `status_of_rounds` for the arguments."""

    def count(failing: np.ndarray) -> str:
        return f"{int(np.sum(failing))} of {failing.size} runs"

    rejecting = moves.acceptance_rate < MIN_ACCEPTANCE  # false where it is NaN
    if np.any(rejecting):
        return CellStatus(
            "stuck",
            f"{count(rejecting)} accept less than {MIN_ACCEPTANCE:.0%} of their proposals; try "
            "sampler.adaptation=dual_averaging or a smaller sampler.step_size",
        )
    diverging = moves.divergent > MAX_DIVERGENT
    if np.any(diverging):
        return CellStatus(
            "diverged",
            f"{count(diverging)} diverge in more than {MAX_DIVERGENT:.0%} of their transitions; try a smaller "
            "sampler.step_size or sampler.adaptation=dual_averaging",
        )
    repeating = moves.repeats > MAX_REPEATS
    if np.any(repeating) and not is_control:
        return CellStatus(
            "stuck",
            f"{count(repeating)} return the same position in more than {MAX_REPEATS:.0%} of their rounds; try "
            "more sampler.num_steps or another sampler",
        )
    return DONE
