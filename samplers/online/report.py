"""What an update reports: what it cost, whether the sample still follows the posterior, and what was done about it."""

import math
from typing import NamedTuple


class Update(NamedTuple):
    """One update of a followed posterior. NaN where a quantity does not apply.

    Attributes:
        num_data: Number of data so far.
        num_gradients: Number of gradient evaluations of this update, over all chains or particles.
        seconds: Wall-clock time of this update, compilation included if `compiled`.
        compiled: Whether a program was compiled: at the first update, and whenever the buffer has doubled.
        acceptance_rate: Mean over the last round of draws.
        rhat: Rank-normalised split R-hat of the chains, of the worst coordinate.
        restart_rhat: The same over the chains and chains restarted from the prior; NaN if none were restarted.
        effective_size: Effective size of the particles, reweighted for the whole batch at once, over their number.
        num_rounds: Rounds of moves: more than one where the first was not enough.
        action: What was done: `moved`, `continued`, `tempered`, `restarted`.
        lost: Whether the sample may not be trusted after all that.
        reason: Why it was not enough to move, or why the posterior was lost; empty if it was enough.
        num_densities: Number of evaluations of the log-density without its gradient, for the weights of particles.
    """

    num_data: int
    num_gradients: int
    seconds: float
    compiled: bool
    acceptance_rate: float = math.nan
    rhat: float = math.nan
    restart_rhat: float = math.nan
    effective_size: float = math.nan
    num_rounds: int = 1
    action: str = "moved"
    lost: bool = False
    reason: str = ""
    num_densities: int = 0
