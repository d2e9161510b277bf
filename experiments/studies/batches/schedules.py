"""Regret and gradients of every schedule, over those of sampling in every round."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval, mean_interval, paired_ratio
from experiments.config.cell import Cell
from experiments.storage.codecs import values

PERIOD, SIZE = "agent.refresh.period", "feedback.size"
WITHIN = 1.1  # a ratio of regrets that is certainly below this counts as none


class Schedule(NamedTuple):
    """One cell.

    Attributes:
        cell: The cell.
        every: m, the rounds from one draw to the next, or the rounds of a batch of rewards.
        batched: Whether rewards come in batches, with a fresh draw in every round; else one draw is kept for m rounds.
        regret: Of each run.
        reference: Of each run of the same sampler that samples in every round and sees each reward at once.
        gradients: Of a run, mean.
    """

    cell: Cell
    every: int
    batched: bool
    regret: Float[np.ndarray, " runs"]
    reference: Float[np.ndarray, " runs"]
    gradients: float

    @property
    def sampler(self) -> str:
        """Its name."""
        return str(self.cell.flat["sampler"])

    @property
    def ratio(self) -> Interval:
        """Regret over that of sampling in every round."""
        return paired_ratio(self.regret, self.reference)

    @property
    def mean(self) -> Interval:
        """Regret."""
        return mean_interval(self.regret)


def schedules(results: StudyResults) -> list[Schedule]:
    """All cells whose sampler was also run in every round."""
    prompt = {cell.flat["sampler"]: cell for cell in results.done if cell.flat.get(PERIOD) == 1}
    found = []
    for cell in results.done:
        reference, every = prompt.get(cell.flat.get("sampler")), cell.flat.get(PERIOD, cell.flat.get(SIZE))
        if reference is None or every is None:
            continue
        gradients = float(values(results.data[cell.id], "num_gradients").sum(axis=1).mean())
        regrets = results.final(cell), results.final(reference)
        found.append(Schedule(cell, int(every), PERIOD not in cell.flat, *regrets, gradients))
    return sorted(found, key=lambda one: (one.batched, one.sampler, one.every))


def rarest(line: list[Schedule]) -> Schedule:
    """The largest m up to which every ratio is certainly within the limit; sampling in every round always is."""
    best, *others = sorted(line, key=lambda one: one.every)
    for one in others:
        if not one.ratio.high < WITHIN:
            break
        best = one
    return best
