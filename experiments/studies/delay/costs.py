"""What a delay costs: regret beyond that of the same sampler without a delay, run by run, along the rounds."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval, bootstrap, mean_interval
from experiments.config.cell import Cell
from experiments.storage.codecs import values

DELAY, DISTRIBUTION = "feedback.delay", "feedback.distribution"
CONSTANT = "constant"


class DelayCost(NamedTuple):
    """One cell with a delay.

    Attributes:
        cell: The cell.
        rounds: Rounds at which regret is recorded.
        regret: Cumulative regret without a delay.
        cost: Cumulative regret with it, less that.
    """

    cell: Cell
    rounds: Float[np.ndarray, " records"]
    regret: Float[np.ndarray, "runs records"]
    cost: Float[np.ndarray, "runs records"]

    @property
    def sampler(self) -> str:
        """Its name."""
        return str(self.cell.flat["sampler"])

    @property
    def delay(self) -> int:
        """The setting: the delay, its mean or its median."""
        return int(self.cell.flat[DELAY])

    @property
    def distribution(self) -> str:
        """Of the delay."""
        return str(self.cell.flat[DISTRIBUTION])

    @property
    def total(self) -> Interval:
        """The cost at the last round."""
        return mean_interval(self.cost[:, -1])

    @property
    def late_share(self) -> Interval:
        """The share of the cost that falls into the second half of the rounds: 0 if it is paid once."""
        return bootstrap(self._halves[:, :2], _late_share)

    @property
    def late_share_of_regret(self) -> float:
        """The same of regret without a delay: the share of a cost in proportion to regret."""
        return float(_late_share(self._halves[:, 2:]))

    @property
    def late_share_difference(self) -> Interval:
        """The first less the second; runs are resampled with both."""
        return bootstrap(self._halves, lambda rows: _late_share(rows[..., :2]) - _late_share(rows[..., 2:]))

    @property
    def _halves(self) -> Float[np.ndarray, "runs 4"]:
        half = len(self.rounds) // 2 - 1
        columns = (self.cost[:, half], self.cost[:, -1], self.regret[:, half], self.regret[:, -1])
        return np.stack(columns, axis=1)


def _late_share(rows: Float[np.ndarray, "*batch runs 2"]) -> Float[np.ndarray, "*batch"]:
    half, whole = np.moveaxis(rows.mean(axis=-2), -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(1 - half / whole)


def delay_costs(results: StudyResults) -> list[DelayCost]:
    """Every cell with a delay whose sampler was also run without one."""
    cells = [cell for cell in results.done if DELAY in cell.flat]
    prompt = {cell.flat["sampler"]: cell for cell in cells if cell.flat[DELAY] == 0}
    found = []
    for cell in cells:
        base = prompt.get(cell.flat["sampler"])
        if base is None or cell.flat[DELAY] == 0:
            continue
        own, without = (np.cumsum(values(results.data[one.id], "regret"), axis=1) for one in (cell, base))
        rounds = values(results.data[cell.id], "round").astype(float)
        found.append(DelayCost(cell, rounds, without, own - without))
    return found
