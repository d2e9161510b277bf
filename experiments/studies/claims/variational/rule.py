"""Regret and growth of fitted Gaussians, against exact draws."""

from matplotlib.figure import Figure

from experiments.analysis.claims import Judgement, Numbers, below, by_parts
from experiments.analysis.measures import cell_of, growth_difference, growth_of, ratio, values_of
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval
from experiments.config.cell import Cell
from experiments.figures.claims import regret_lines

SLACK = 0.15  # a difference of growth exponents that is certainly below this is none
CONSTANT = 2.0  # a ratio of regrets that is certainly below this is a constant factor
CAPTION = "Cumulative regret on logarithmic axes: equal slopes are equal rates."
KINDS = {"full covariance": "fullrank_vi", "diagonal": "meanfield_vi"}


def _cells(results: StudyResults) -> dict[str, Cell]:
    cells = {"exact draws": cell_of(results, sampler="exact")}
    for name, sampler in KINDS.items():
        for steps in values_of(results, "sampler.num_iterations", sampler=sampler):
            own = {"sampler": sampler, "sampler.num_iterations": steps}
            cells[f"{name}, {steps} steps"] = cell_of(results, **own)
    return cells


def measure(results: StudyResults) -> dict[str, Interval]:
    """Ratios of regret and differences of growth exponents."""
    cells = _cells(results)
    exact = cells.pop("exact draws")
    numbers = {"growth exponent, exact draws": growth_of(results, exact)}
    for name, cell in cells.items():
        numbers[f"regret over exact, {name}"] = ratio(results, cell, exact)
        numbers[f"growth exponent less that of exact draws, {name}"] = growth_difference(results, cell, exact)
    return numbers


def judge(numbers: Numbers) -> Judgement:
    """Each fit with a full covariance must be within a constant of exact draws and grow no faster."""
    prefix = "regret over exact, "
    fits = [name.removeprefix(prefix) for name in numbers if name.startswith(f"{prefix}full")]
    parts, seen = {}, []
    for fit in fits:
        times = numbers[f"{prefix}{fit}"]
        faster = numbers[f"growth exponent less that of exact draws, {fit}"]
        parts[f"{fit}: regret is within {CONSTANT:g} times that of exact draws"] = below(times, CONSTANT)
        parts[f"{fit}: regret grows no faster"] = below(faster, SLACK)
        seen.append(f"{times.value:.2f} times that of exact draws ({fit}), growing by {faster.value:+.2f}")
    diagonal = [n.value for name, n in numbers.items() if name.startswith(f"{prefix}diagonal")]
    contrast = f"; a diagonal one has {diagonal[0]:.2f} times" if diagonal else ""
    return by_parts(parts, f"With a fitted Gaussian regret is {', '.join(seen)} in the exponent{contrast}.")


def figure(results: StudyResults) -> Figure:
    """Regret against rounds."""
    return regret_lines(results, _cells(results), log=True)
