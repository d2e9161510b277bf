"""Regrets as published and with one posterior for all, over that of exact Thompson sampling."""

from matplotlib.figure import Figure

from experiments.analysis.claims import Judgement, Numbers, above, below, by_parts
from experiments.analysis.measures import cell_of, ratio, regret
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval
from experiments.config.cell import Cell
from experiments.figures.claims import named_numbers

CAPTION = (
    "Regret with 95% intervals. `As published` are the authors' temperature and accept step, reproduced."
)
HALF = 0.8  # a ratio that is certainly below this is clearly less
TRIPLE = 1.5  # one that is certainly above this is clearly more
LEVELS = ("as published", "one posterior")


def _cells(results: StudyResults) -> dict[str, Cell]:
    return {
        "exact Thompson sampling": cell_of(results, sampler="exact"),
        "LMC, as published": cell_of(results, sampler="showdown_lmc", posterior="ts"),
        "MALA, as published": cell_of(results, sampler="showdown_mala", posterior="ts"),
        "FG-LMC, as published": cell_of(results, sampler="showdown_lmc", posterior="fgts_a"),
        "LMC, one posterior": cell_of(results, sampler="sgld", posterior="ts"),
        "MALA, one posterior": cell_of(results, sampler="mala", posterior="ts"),
        "FG-LMC, one posterior": cell_of(results, sampler="sgld", posterior="fgts_a"),
        "OFUL": cell_of(results, agent="oful"),
    }


def measure(results: StudyResults) -> dict[str, Interval]:
    """Regrets, and ratios at each level."""
    cells = _cells(results)
    numbers = {f"regret, {name}": regret(results, cell) for name, cell in cells.items()}
    for level in LEVELS:
        lmc = cells[f"LMC, {level}"]
        numbers[f"LMC over exact, {level}"] = ratio(results, lmc, cells["exact Thompson sampling"])
        numbers[f"FG-LMC over LMC, {level}"] = ratio(results, cells[f"FG-LMC, {level}"], lmc)
    return numbers


def judge(numbers: Numbers) -> Judgement:
    """Two lines: as published, and with one posterior for all."""
    parts = {}
    for level in LEVELS:
        parts[f"{level}: LMC has clearly less regret than exact Thompson sampling"] = below(
            numbers[f"LMC over exact, {level}"], HALF
        )
        parts[f"{level}: the feel-good term clearly adds regret"] = above(
            numbers[f"FG-LMC over LMC, {level}"], TRIPLE
        )
    lines = "; ".join(
        f"{level}, LMC has {numbers[f'LMC over exact, {level}'].value:.2f} times the regret of exact Thompson sampling "
        f"and the feel-good term multiplies it by {numbers[f'FG-LMC over LMC, {level}'].value:.2f}"
        for level in LEVELS
    )
    return by_parts(parts, f"{lines[0].upper()}{lines[1:]}.")


def figure(results: StudyResults) -> Figure:
    """Regrets, a row each."""
    return named_numbers({name: regret(results, cell) for name, cell in _cells(results).items()}, "regret")
