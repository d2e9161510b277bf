"""What a figure needs of a study's results; InputError says what is missing."""

from experiments.analysis.hyperparameters import TunedAlgorithm
from experiments.analysis.pairs import Pair
from experiments.analysis.results import StudyResults
from experiments.config.cell import Cell
from samplers.errors import InputError, did_you_mean


def cells_of(results: StudyResults, rounds: int | None = None) -> list[Cell]:
    """The cells that have results, those of one horizon if it is given."""
    cells = [cell for cell in results.done if rounds in (None, cell.rounds)]
    if not cells:
        horizons = ", ".join(str(one) for one in dict.fromkeys(cell.rounds for cell in results.done))
        asked = "" if rounds is None else f" of {rounds} rounds; there are cells of: {horizons or 'none'}"
        raise InputError(f"this figure needs a cell with results{asked}")
    return cells


def cells_along(results: StudyResults, key: str) -> list[Cell]:
    """The cells that have results, at least one of which has a setting."""
    cells = cells_of(results)
    known = {one for cell in cells for one in cell.flat}
    if key not in known:
        valid = ", ".join(sorted(known))
        raise InputError(f"no cell has the setting {key!r}{did_you_mean(key, known)}; valid: {valid}")
    return cells


def algorithms_of(results: StudyResults) -> list[TunedAlgorithm]:
    """The algorithms that a study compares."""
    if not results.tuned_algorithms:
        raise InputError("this figure needs a study that compares algorithms, like study=figure1")
    return results.tuned_algorithms


def algorithms_along(results: StudyResults) -> tuple[list[TunedAlgorithm], str]:
    """The algorithms that a study compares, and the key of the setting that it sweeps."""
    algorithms, sweep = algorithms_of(results), results.comparison.sweep
    if sweep is None:
        raise InputError("this figure needs a study that sweeps a setting, like study=figure2")
    return algorithms, sweep


def pairs_of(results: StudyResults, *, probed: bool = False) -> list[Pair]:
    """The cells that have an exact reference, those with diagnostics if asked."""
    pairs = results.probed_pairs if probed else results.pairs
    if not pairs:
        needs = ", which was probed (diagnostics.runs=2)" if probed else ""
        raise InputError(f"this figure needs a cell with an exact reference (sampler=exact,...){needs}")
    return pairs
