"""Regret of averaged single steps over that of exact draws and of single Langevin steps."""

from matplotlib.figure import Figure

from experiments.analysis.claims import Judgement, Numbers, all_of, below, by_parts
from experiments.analysis.measures import cell_of, growth_of, ratio
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval
from experiments.config.cell import Cell
from experiments.figures.claims import regret_lines

CLOSE = 1.5  # a ratio to exact draws that is certainly below this is near-optimal
CAPTION = "Cumulative regret with one Langevin step a round."
READINGS = {"new noise at each decision": True, "noise only in the step": False}
OTHERS = {"plain steps": "none", "steps per arm": "diagonal"}


def _cells(results: StudyResults) -> dict[str, Cell]:
    cells = {"exact draws": cell_of(results, sampler="exact")}
    cells |= {
        f"TS-SA-style, {name}": cell_of(results, agent="ts_sa", agent__redraw=r)
        for name, r in READINGS.items()
    }
    return cells | {
        name: cell_of(results, sampler="sgld", sampler__preconditioner=p) for name, p in OTHERS.items()
    }


def measure(results: StudyResults) -> dict[str, Interval]:
    """Ratios to exact draws, and to Langevin steps of the same budget."""
    cells = _cells(results)
    exact = cells.pop("exact draws")
    numbers = {f"regret over exact, {name}": ratio(results, cell, exact) for name, cell in cells.items()}
    for name in READINGS:
        own = cells[f"TS-SA-style, {name}"]
        numbers[f"growth exponent, TS-SA-style, {name}"] = growth_of(results, own)
        for other in OTHERS:
            numbers[f"regret over {other}, TS-SA-style, {name}"] = ratio(results, own, cells[other])
    return numbers


def judge(numbers: Numbers) -> Judgement:
    """Each reading must be within a constant of exact draws, and have less regret than either Langevin step."""
    parts, seen = {}, []
    for name in READINGS:
        exact = numbers[f"regret over exact, TS-SA-style, {name}"]
        others = [numbers[f"regret over {other}, TS-SA-style, {name}"] for other in OTHERS]
        parts[f"there is {name}"] = all_of(below(exact, CLOSE), *(below(other, 1) for other in others))
        seen.append(f"{exact.value:.2f} times that of exact draws with {name}")
    return by_parts(parts, f"With one averaged step of fixed size regret is {' and '.join(seen)}.")


def figure(results: StudyResults) -> Figure:
    """Regret against rounds."""
    return regret_lines(results, _cells(results), log=True)
