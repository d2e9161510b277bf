"""Regret at each c over that at c=0: of exact draws, and of the least accurate sampler."""

import numpy as np
from matplotlib.figure import Figure

from experiments.analysis.claims import Judgement, Numbers, above, any_of, below, by_parts
from experiments.analysis.measures import argmin, final, ratio, values_of
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval
from experiments.figures.claims import numbers_along

CAPTION = "Regret over that without a bonus, with 95% intervals: below 1 the bonus helps."


def _ratios(results: StudyResults, environment: str) -> dict[str, dict[float, Interval]]:
    """Ratios by sampler, from the most accurate on, and by c."""
    steps = values_of(results, "sampler.num_steps", sampler="sgld", environment=environment)
    samplers = {"exact draws": {"sampler": "exact"}}
    samplers |= {f"K={k}": {"sampler": "sgld", "sampler.num_steps": k} for k in reversed(steps)}
    values = [c for c in values_of(results, "posterior.c", environment=environment) if c > 0]
    where = {"environment": environment}
    return {
        name: {
            c: ratio(results, own | where | {"posterior.c": c}, own | where | {"posterior.c": 0.0})
            for c in values
        }
        for name, own in samplers.items()
    }


def _best(results: StudyResults, environment: str, name: str) -> Interval:
    """The c of the grid with the least mean regret."""
    own: dict[str, object] = {"sampler": "exact", "environment": environment}
    if name != "exact draws":
        own |= {"sampler": "sgld", "sampler.num_steps": int(name.removeprefix("K="))}
    grid = values_of(results, "posterior.c", environment=environment)
    return argmin(grid, np.stack([final(results, own | {"posterior.c": c}) for c in grid]))


def measure(results: StudyResults) -> dict[str, Interval]:
    """The ratios of exact draws and of the fewest steps, and the c with the least regret of each."""
    numbers = {}
    for environment in values_of(results, "environment"):
        ratios = _ratios(results, environment)
        for name in (next(iter(ratios)), list(ratios)[-1]):
            kind = "exact draws" if name == "exact draws" else f"{name}, the least accurate"
            for c, number in ratios[name].items():
                numbers[f"{environment}, {kind}, c={c:g}"] = number
            numbers[f"{environment}, best c, {kind.rpartition(', ')[2]}"] = _best(results, environment, name)
    return numbers


def judge(numbers: Numbers) -> Judgement:
    """In each environment: a bonus helps exact draws, hurts the least accurate, and the best c falls."""
    parts: dict[str, bool | None] = {}
    seen: list[str] = []
    for environment in dict.fromkeys(name.partition(",")[0] for name in numbers):
        own = {name: n for name, n in numbers.items() if name.startswith(f"{environment},")}
        best = {name.rpartition(", ")[2]: n for name, n in own.items() if "best c" in name}
        accurate = [n for name, n in own.items() if "exact draws, c=" in name]
        rough = [n for name, n in own.items() if "least accurate, c=" in name]
        helps = any_of(*(below(n, 1) for n in rough))
        exact, least = best["exact draws"], best["the least accurate"]
        parts |= {
            f"{environment} noise, exact draws: a bonus helps": any_of(*(below(n, 1) for n in accurate)),
            f"{environment} noise, inaccurate sampling: a bonus hurts": (
                False if helps else any_of(*(above(n, 1) for n in rough))
            ),
            f"{environment} noise: the best c is smaller with inaccurate sampling": (
                True if least.high < exact.low else False if least.low >= exact.high else None
            ),
        }
        seen.append(
            f"{environment}: at best {min(n.value for n in accurate):.2f} times the regret without a bonus with exact "
            f"draws, {min(n.value for n in rough):.2f} to {max(n.value for n in rough):.2f} times with the least "
            f"accurate sampler; the best c is {exact.value:g} and {least.value:g}"
        )
    return by_parts(parts, f"With a bonus, {'. '.join(seen)}.")


def figure(results: StudyResults) -> Figure:
    """Ratios against c in the first environment."""
    environment = str(values_of(results, "environment")[-1])
    return numbers_along(
        _ratios(results, environment),
        f"c ({environment} noise)",
        "regret / regret at c=0",
        log="xy",
        marks=(1.0,),
    )
