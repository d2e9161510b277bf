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


class Ranks(NamedTuple):
    """The ranks of one cell at one probed round."""

    label: str
    round: int
    ranks: Int[np.ndarray, " runs"]

    @property
    def uniformity(self) -> Uniformity:
        """How far they are from uniform."""
        return uniformity(self.ranks, NUM_DRAWS)


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
                yield Ranks(results.labels[cell.id], int(probe), ranks)
