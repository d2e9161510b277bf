"""The least number of steps within 1.2 times exact regret at each dimension, and its slope in the dimension."""

import numpy as np
from matplotlib.figure import Figure

from experiments.analysis.claims import (
    Judgement,
    Numbers,
    below,
    by_parts,
    near,
    untested,
)
from experiments.analysis.measures import difference, final, least_budget, slope, values_of
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval
from experiments.figures.claims import numbers_along

WITHIN = 1.2
CAPTION = "Least number of steps a round within 1.2 times exact regret, against the dimension."
SAMPLERS = {"overdamped": "sgld", "underdamped": "ulmc"}
SLOPES = {"overdamped": 1.0, "underdamped": 0.5}
ABOUT = 0.25  # an exponent that is certainly within this of a slope is about the same


def _points(results: StudyResults) -> dict[str, dict[float, Interval]]:
    points: dict[str, dict[float, Interval]] = {}
    for name, sampler in SAMPLERS.items():
        budgets = values_of(results, "sampler.num_steps", sampler=sampler)
        for dim in values_of(results, "environment.dim", sampler=sampler):
            own = {"environment.dim": dim}
            regrets = [final(results, {"sampler": sampler, "sampler.num_steps": k, **own}) for k in budgets]
            exact = final(results, {"sampler": "exact", **own})
            points.setdefault(name, {})[float(dim)] = least_budget(budgets, np.stack(regrets), WITHIN * exact)
    return points


def measure(results: StudyResults) -> dict[str, Interval]:
    """Least numbers of steps, and slopes in the dimension."""
    numbers = {}
    for name, points in _points(results).items():
        for dim, number in points.items():
            numbers[f"least steps, {name}, d={dim:g}"] = number
        numbers[f"slope in d, {name}"] = slope(list(points), list(points.values()))
    return numbers


def judge(numbers: Numbers) -> Judgement:
    """The slopes must be about 1 and about 1/2, and the second certainly smaller."""
    least = {name: number for name, number in numbers.items() if name.startswith("least")}
    if any(not np.isfinite(number.value) for number in least.values()):
        return untested(
            "at some dimension no number of steps that was tried comes within 1.2 times exact regret"
        )
    if all(number.value <= 1 for number in least.values()):
        return untested("one step a round is enough at every dimension that was tried")
    over, under = (numbers[f"slope in d, {name}"] for name in SAMPLERS)
    if not np.all(np.isfinite([over, under])):
        return untested("at some dimension the least number of steps is not known well enough for a slope")
    parts = {
        f"{name} steps grow about like d^{SLOPES[name]:g}": near(number, SLOPES[name], ABOUT)
        for name, number in zip(SAMPLERS, (over, under), strict=True)
    }
    parts["underdamped steps grow more slowly than overdamped ones"] = below(difference(under, over), 0)
    return by_parts(
        parts,
        f"Least steps grow with the power {over.format('.2f')} of d overdamped, {under.format('.2f')} underdamped.",
    )


def figure(results: StudyResults) -> Figure:
    """Least steps against the dimension."""
    return numbers_along(_points(results), "dimension d", "least steps a round", log="xy")
