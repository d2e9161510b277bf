"""Cells beside the study's reference sampler: no sampler is exact on a network, NUTS comes closest."""

from experiments.analysis.pairs import Pair
from experiments.analysis.results import StudyResults
from experiments.config.cell import Cell

REFERENCE = "nuts"


def reference_cells(results: StudyResults) -> dict[str, Cell]:
    """The cell of the reference sampler in each panel."""
    return {results.panels[c.id]: c for c in results.done if c.flat.get("sampler") == REFERENCE}


def pairs_with_reference(results: StudyResults) -> list[Pair]:
    """Every other cell with the reference cell of its panel, which met the same random numbers."""
    references = reference_cells(results)
    return [
        Pair(cell, results.data[cell.id], results.data[reference.id])
        for cell in results.done
        if (reference := references.get(results.panels[cell.id])) is not None and cell.id != reference.id
    ]
