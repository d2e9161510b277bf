"""Regret at each number of members over that of exact draws, and growth exponents."""

import numpy as np
from matplotlib.figure import Figure

from experiments.analysis.claims import Judgement, Numbers, above, below, by_parts
from experiments.analysis.measures import final, late_growth, least_budget, ratio, values_of
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval
from experiments.figures.claims import numbers_along

LINEAR = 0.9  # growth that is certainly above this is linear
CLOSE = 1.25  # a ratio that is certainly below this matches exact draws
ENOUGH = 32  # members near d log T
CAPTION = "Regret over that of exact draws, with 95% intervals, against the number of members."
AGENTS = {"ensemble": "ensemble", "Ensemble++": "linear_ensemble_plus_plus"}
EXACT = {"agent": "thompson"}


def _ratios(results: StudyResults) -> dict[str, dict[float, Interval]]:
    return {
        name: {
            m: ratio(results, {"agent": agent, "agent.members": m}, EXACT)
            for m in values_of(results, "agent.members", agent=agent)
        }
        for name, agent in AGENTS.items()
    }


def measure(results: StudyResults) -> dict[str, Interval]:
    """Ratios, the growth of the two smallest ensembles, and the least number of members."""
    numbers = {}
    for name, ratios in _ratios(results).items():
        for members, number in ratios.items():
            numbers[f"regret over exact, {name}, {members:g} members"] = number
    agent = AGENTS["ensemble"]
    sizes = values_of(results, "agent.members", agent=agent)
    for members in sizes[:2]:
        growth = late_growth(results, {"agent": agent, "agent.members": members})
        numbers[f"late growth exponent, ensemble, {members:g} members"] = growth
    regrets = [final(results, {"agent": agent, "agent.members": m}) for m in sizes]
    limit = CLOSE * final(results, EXACT)
    numbers["least members, ensemble"] = least_budget(sizes, np.stack(regrets), limit)
    return numbers


def judge(numbers: Numbers) -> Judgement:
    """The smallest ensembles must be linear, and ensembles near d log T close to exact draws."""
    prefix = "late growth exponent, ensemble, "
    growth = {name.removeprefix(prefix): n for name, n in numbers.items() if name.startswith(prefix)}
    enough, least = _at(numbers, ENOUGH), numbers["least members, ensemble"]
    parts: dict[str, bool | None] = {
        f"{members.replace('1 members', '1 member')}: regret is linear": above(number, LINEAR)
        for members, number in growth.items()
    }
    parts[f"about d log T members are within {CLOSE:g} times exact draws"] = below(enough, CLOSE)
    exponents = " and ".join(f"{number.format('.2f')} ({members})" for members, number in growth.items())
    return by_parts(
        parts,
        f"After the first quarter the regret of the smallest ensembles grows with the powers {exponents}; near d log T "
        f"members it is {enough.value:.2f} times that of exact draws; {least.value:.1f} members are "
        f"needed for {CLOSE:g} times.",
    )


def _at(numbers: Numbers, members: int) -> Interval:
    """The ratio of an ensemble of this number of members, or of the closest that was run."""
    prefix = "regret over exact, ensemble, "
    found = {
        int(key.removeprefix(prefix).split()[0]): n for key, n in numbers.items() if key.startswith(prefix)
    }
    return found[min(found, key=lambda m: abs(m - members))]


def figure(results: StudyResults) -> Figure:
    """Ratios against the number of members."""
    return numbers_along(_ratios(results), "members", "regret / exact", log="xy", marks=(1.0,))
