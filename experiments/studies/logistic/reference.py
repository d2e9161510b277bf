"""The reference of the study: long Polya-Gamma Gibbs chains in the place of exact draws."""

from experiments.analysis.pairs import Pair
from experiments.analysis.results import StudyResults
from experiments.config.cell import Cell

STEPS = "sampler.num_steps"
SAMPLER = "polya_gamma"


def reference_cell(results: StudyResults) -> Cell | None:
    """The Gibbs sampler with the most sweeps; None if the study has none."""
    cells = [cell for cell in results.done if cell.flat.get("sampler") == SAMPLER]
    return max(cells, key=lambda cell: cell.flat[STEPS], default=None)


def reference_pairs(results: StudyResults) -> list[Pair]:
    """Every other cell beside the reference, which met the same random numbers."""
    reference = reference_cell(results)
    if reference is None:
        return []
    return [
        Pair(cell, results.data[cell.id], results.data[reference.id])
        for cell in results.done
        if cell is not reference and "sampler" in cell.flat
    ]


def describe(pair: Pair) -> str:
    """The sampler and its number of steps."""
    steps = pair.cell.flat.get(STEPS)
    return pair.sampler if steps is None else f"{pair.sampler} at {steps}"
