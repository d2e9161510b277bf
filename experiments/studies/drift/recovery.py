"""What a jump of the truth does to each cell: how far its actions are from the oracle's, how long, and at what cost."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from experiments.analysis.arrays import diagnostic
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import LEVEL, Interval, mean_interval, paired_difference
from experiments.config.cell import REFERENCE, Cell
from experiments.storage.codecs import values

AT = "drift.at"
WARM, COLD, RESTARTED, CARRIED = "warm", "cold", "restarted", "particles carried over"


class Recovery(NamedTuple):
    """One cell.

    Attributes:
        cell: The cell.
        start: How a round's sampling starts.
        probes: Probed rounds, less the round of the jump.
        excess: Action-TV to exact draws from the same posterior above its Monte Carlo floor, by run and probe.
        regret: Regret of each run from the jump on.
        gap: That less the regret of exact draws with the same discount; None for exact draws.
    """

    cell: Cell
    start: str
    probes: Sequence[int]
    excess: Float[np.ndarray, "runs probes"]
    regret: Float[np.ndarray, " runs"]
    gap: Interval | None

    @property
    def discounted(self) -> bool:
        """Whether the posterior forgets."""
        return self.cell.flat.get("posterior.discount") is not None

    @property
    def name(self) -> str:
        """The sampler with its start; exact draws with the discount."""
        if self.cell.flat["sampler"] == REFERENCE:
            return "exact draws" if self.discounted else "exact draws, no discount"
        return f"{self.cell.flat['sampler']}, {self.start}"

    @property
    def before(self) -> Interval:
        """Excess TV before the jump, which is this sampler's own floor."""
        return mean_interval(self._before)

    @property
    def _before(self) -> Float[np.ndarray, " runs"]:
        return np.asarray(np.nanmean(self.excess[:, np.asarray(self.probes) < 0], axis=1))

    @property
    def rises(self) -> dict[int, Interval]:
        """How far TV is above its level before, by rounds since the jump; one interval in twenty cells errs at all."""
        after = [(i, since) for i, since in enumerate(self.probes) if since > 0]
        level = 1 - (1 - LEVEL) / max(len(after), 1)
        return {since: mean_interval(self.excess[:, i] - self._before, level) for i, since in after}

    @property
    def peak(self) -> Interval:
        """The largest rise, of those that are certain if there are some."""
        rises = list(self.rises.values())
        certain = [rise for rise in rises if rise.low > 0]
        return max(certain or rises, key=lambda rise: rise.value)

    @property
    def rounds(self) -> int | None:
        """Rounds until TV is back at its level before; None if it is not by the last probe."""
        return rounds_until_back(self.rises)


def rounds_until_back(rises: dict[int, Interval]) -> int | None:
    """The first probe from which on no rise is certainly above zero, 0 if none ever is; None if the last one is."""
    above = [since for since, rise in rises.items() if rise.low > 0]
    if not above:
        return 0
    return next((since for since in sorted(rises) if since > max(above)), None)


def start_of(cell: Cell) -> str:
    """How a round's sampling starts."""
    if cell.flat["sampler"] == "smc":
        return CARRIED
    if not cell.flat["agent.warm_start"]:
        return COLD
    return RESTARTED if cell.flat["agent.restart_every"] else WARM


def regret_after(results: StudyResults, cell: Cell) -> Float[np.ndarray, "runs rounds"]:
    """Cumulative regret from the round of the jump on."""
    data = results.data[cell.id]
    after = values(data, "round") >= cell.flat[AT]
    return np.asarray(np.cumsum(values(data, "regret")[:, after], axis=1))


def recoveries(results: StudyResults) -> list[Recovery]:
    """All probed cells with a jump."""
    cells = [
        cell for cell in results.done if cell.flat.get(AT) and "diagnostics" in results.data[cell.id].children
    ]
    exact = {
        cell.flat.get("posterior.discount"): regret_after(results, cell)[:, -1]
        for cell in cells
        if cell.flat["sampler"] == REFERENCE
    }
    found = []
    for cell in cells:
        data, at = results.data[cell.id], int(cell.flat[AT])
        excess = diagnostic(data, "total_variation") - diagnostic(data, "total_variation_floor")
        probes = [int(t) - at for t in data.children["diagnostics"].dataset["probe"].values]
        regret, reference = regret_after(results, cell)[:, -1], exact.get(cell.flat.get("posterior.discount"))
        gap = None
        if cell.flat["sampler"] != REFERENCE and reference is not None:
            gap = paired_difference(regret, reference)
        if min(probes) < 0 < max(probes):
            found.append(Recovery(cell, start_of(cell), probes, excess, regret, gap))
    return found
