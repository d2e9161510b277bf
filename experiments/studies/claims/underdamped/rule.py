"""The least number of steps within 1.2 times exact regret at each dimension, and its slope in the dimension."""

import numpy as np
from matplotlib.figure import Figure

from experiments.analysis.claims import Judgement, Numbers, below, by_parts, near, untested
from experiments.analysis.measures import difference, final, least_budget, slope, values_of
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval
from experiments.figures.claims import numbers_along

WITHIN = 1.2
CAPTION = "Least number of steps a round within 1.2 times exact regret, against the dimension; 1 is the least there is."
SAMPLERS = {"overdamped": "sgld", "underdamped": "ulmc"}
STARTS = {"warm": True, "cold": False}
SLOPES = {"overdamped": 1.0, "underdamped": 0.5}
ABOUT = 0.25  # an exponent that is certainly within this of a slope is about the same


def _points(results: StudyResults) -> dict[str, dict[float, Interval]]:
    points: dict[str, dict[float, Interval]] = {}
    for start, warm in STARTS.items():
        for name, sampler in SAMPLERS.items():
            own = {"sampler": sampler, "agent.warm_start": warm}
            if not any(cell.flat.get("agent.warm_start") == warm for cell in results.done):
                continue
            budgets = values_of(results, "sampler.num_steps", **own)
            for dim in values_of(results, "environment.dim", **own):
                at = {"environment.dim": dim}
                regrets = [final(results, own | at | {"sampler.num_steps": k}) for k in budgets]
                limit = WITHIN * final(results, {"sampler": "exact"} | at)
                found = least_budget(budgets, np.stack(regrets), limit)
                points.setdefault(f"{name}, {start} start", {})[float(dim)] = found
    return points


def measure(results: StudyResults) -> dict[str, Interval]:
    """Least numbers of steps, and slopes in the dimension where they are not all 1, the least there is."""
    numbers = {}
    for name, points in _points(results).items():
        for dim, number in points.items():
            numbers[f"least steps, {name}, d={dim:g}"] = number
        above_one = {dim: number for dim, number in points.items() if number.value > 1}
        numbers[f"slope in d, {name}"] = slope(list(above_one), list(above_one.values()))
    return numbers


def judge(numbers: Numbers) -> Judgement:
    """With either start: the slopes must be about 1 and about 1/2, and the second certainly smaller."""
    parts: dict[str, bool | None] = {}
    seen = []
    for start in STARTS:
        slopes = {
            name: numbers[f"slope in d, {name}, {start} start"]
            for name in SAMPLERS
            if f"slope in d, {name}, {start} start" in numbers
        }
        if not slopes or not np.all(
            np.isfinite(list(slopes.values()))
        ):  # nothing can be compared at this start
            continue
        for name, number in slopes.items():
            parts[f"{start} start: {name} steps grow about like d^{SLOPES[name]:g}"] = near(
                number, SLOPES[name], ABOUT
            )
            seen.append(f"with the power {number.format('.2f')} of d ({name}, {start} start)")
        parts[f"{start} start: underdamped steps grow more slowly than overdamped ones"] = below(
            difference(slopes["underdamped"], slopes["overdamped"]), 0
        )
    if not parts:
        return untested(
            "for one of the two samplers one step a round is enough at all dimensions but one at most, or no number of "
            "steps that was tried is enough, so that there is no slope"
        )
    return by_parts(parts, f"Least steps grow {', '.join(seen)}.")


def figure(results: StudyResults) -> Figure:
    """Least steps against the dimension."""
    return numbers_along(_points(results), "dimension d", "least steps a round", log="xy")
