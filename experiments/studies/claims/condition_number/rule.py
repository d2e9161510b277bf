"""The least number of steps within 1.2 times exact regret at each condition number, and its slope."""

import numpy as np
from matplotlib.figure import Figure

from experiments.analysis.claims import Judgement, Numbers, above, below, by_parts
from experiments.analysis.measures import cell_of, final, least_budget, probed, slope, values_of
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval
from experiments.figures.claims import numbers_along

WITHIN = 1.2
FLAT = 0.25  # a slope that is certainly below this is no dependence
CAPTION = "Least number of steps a round within 1.2 times exact regret, against the condition number at the last round."
SAMPLERS = {"plain": "sgld", "preconditioned": "psgld"}


def _least(results: StudyResults, sampler: str, alpha: float) -> tuple[float, Interval]:
    """The condition number and the least number of steps; at least the largest tried where none is enough."""
    own = {"posterior.alpha": alpha}
    exact = cell_of(results, sampler="exact", **own)
    kappa = probed(results, "condition_number", exact).value
    budgets = values_of(results, "sampler.num_steps", sampler=sampler, **own)
    regrets = [final(results, {"sampler": sampler, "sampler.num_steps": k, **own}) for k in budgets]
    found = least_budget(budgets, np.stack(regrets), WITHIN * final(results, exact))
    return kappa, Interval(*(min(value, float(budgets[-1])) if value == np.inf else value for value in found))


def _points(results: StudyResults) -> dict[str, dict[float, Interval]]:
    alphas = values_of(results, "posterior.alpha", sampler="exact")
    return {name: dict(_least(results, sampler, a) for a in alphas) for name, sampler in SAMPLERS.items()}


def measure(results: StudyResults) -> dict[str, Interval]:
    """Least numbers of steps, and slopes in the condition number."""
    numbers = {}
    for name, points in _points(results).items():
        for kappa, number in sorted(points.items()):
            numbers[f"least steps, {name}, condition number {kappa:.2g}"] = number
        numbers[f"slope in the condition number, {name}"] = slope(list(points), list(points.values()))
    return numbers


def judge(numbers: Numbers) -> Judgement:
    """Plain steps must need certainly more at a larger condition number, preconditioned ones certainly not."""
    plain, preconditioned = (numbers[f"slope in the condition number, {name}"] for name in SAMPLERS)
    parts = {
        "the number of plain steps grows with the condition number": above(plain, 0),
        "that of preconditioned steps does not": below(preconditioned, FLAT),
    }
    return by_parts(
        parts,
        f"The least number of steps grows with the power {plain.format('.2f')} of the condition number, "
        f"preconditioned {preconditioned.format('.2f')}.",
    )


def figure(results: StudyResults) -> Figure:
    """Least steps against the condition number."""
    return numbers_along(_points(results), "condition number", "least steps a round", log="xy")
