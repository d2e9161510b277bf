"""Ranks of the truth among the draws of every probed run, by cell and round."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from experiments.analysis.results import StudyResults
from fgtsva_ppl.diagnostics import ProbeSizes
from samplers.diagnostics import Uniformity, uniformity

NUM_DRAWS = ProbeSizes().num_replicas
MIN_RUNS = 20  # fewer ranks say nothing
ALARM = 0.01


class Ranks(NamedTuple):
    """The ranks of one cell at one probed round."""

    label: str
    eta: float  # weight of a datum: 1/2 is the Bayes temperature for rewards of variance 1
    round: int
    ranks: Int[np.ndarray, " runs"]

    @property
    def uniformity(self) -> Uniformity:
        """How far they are from uniform."""
        return uniformity(self.ranks, NUM_DRAWS)


class Verdict(NamedTuple):
    """What ranks say: `uniform`, `U-shaped` (too narrow a posterior) or `humped` (too wide a one)."""

    of: Ranks
    test: Uniformity
    shape: str


def verdicts_of(results: StudyResults) -> list[Verdict]:
    """A verdict per cell and round; false alarms have probability ALARM over all of them (Bonferroni)."""
    found = list(ranks_of(results))
    verdicts = []
    for one in found:
        test = one.uniformity
        shape = "uniform"
        if min(test.p_value, test.spread_p_value) < ALARM / (2 * len(found)):
            shape = "U-shaped" if test.spread > 1 else "humped"
        verdicts.append(Verdict(one, test, shape))
    return verdicts


def ranks_of(results: StudyResults) -> Iterator[Ranks]:
    """The ranks of all cells with enough probed runs: of the first arm's true mean reward among the draws' rewards."""
    for cell in results.done:
        tree = results.data.get(cell.id)
        if tree is None or "diagnostics" not in tree.children:
            continue
        diagnostics = tree.children["diagnostics"].to_dataset()
        if "truth_rank" not in diagnostics:
            continue
        shares = diagnostics["truth_rank"]
        for probe in shares["probe"].values:
            values = np.asarray(shares.sel(probe=probe).values)
            values = values[np.isfinite(values)]
            if len(values) >= MIN_RUNS:
                ranks = np.rint(values * NUM_DRAWS).astype(int)
                yield Ranks(results.labels[cell.id], float(cell.flat["posterior.eta"]), int(probe), ranks)
