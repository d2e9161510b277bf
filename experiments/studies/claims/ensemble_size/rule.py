"""Regret at each number of members over that of exact draws, and growth exponents."""

import numpy as np
from matplotlib.figure import Figure

from experiments.analysis.claims import Judgement, Numbers, by_parts
from experiments.analysis.measures import final, growth_of, least_budget, ratio, values_of
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval
from experiments.figures.claims import numbers_along

LINEAR = 0.9  # growth that is certainly above this is linear
CLOSE = 1.25  # a ratio that is certainly below this matches exact draws
FEW = 8  # columns of Ensemble++ that are said to be enough
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
    """Ratios, the growth of the smallest ensembles, and the least numbers of members."""
    numbers = {}
    for name, ratios in _ratios(results).items():
        agent = AGENTS[name]
        for members, number in ratios.items():
            numbers[f"regret over exact, {name}, {members:g} members"] = number
        smallest = min(ratios)
        growth = growth_of(results, {"agent": agent, "agent.members": smallest})
        numbers[f"growth exponent, {name}, {smallest:g} members"] = growth
        regrets = [final(results, {"agent": agent, "agent.members": m}) for m in ratios]
        limit = CLOSE * final(results, EXACT)
        numbers[f"least members, {name}"] = least_budget(list(ratios), np.stack(regrets), limit)
    return numbers


def _at(numbers: Numbers, name: str, members: int) -> Interval:
    """The ratio at this number of members, or at the closest that was run."""
    prefix = f"regret over exact, {name}, "
    found = {
        int(key.removeprefix(prefix).split()[0]): n for key, n in numbers.items() if key.startswith(prefix)
    }
    return found[min(found, key=lambda m: abs(m - members))]


def judge(numbers: Numbers) -> Judgement:
    """Four parts, each decided by its interval."""
    smallest = next(n for name, n in numbers.items() if name.startswith("growth exponent, ensemble,"))
    plain, plus = numbers["least members, ensemble"], numbers["least members, Ensemble++"]
    enough, few = _at(numbers, "ensemble", ENOUGH), _at(numbers, "Ensemble++", FEW)
    parts = {
        "the smallest ensemble has linear regret": smallest.low > LINEAR,
        "about d log T members are enough": enough.high < CLOSE,
        "Ensemble++ nearly matches exact draws with 8": few.high < CLOSE,
        "Ensemble++ needs fewer members than an ensemble": plus.high < plain.low,
    }
    return by_parts(
        parts,
        f"The smallest ensemble's regret grows with the power {smallest.format('.2f')}; near d log T members it is "
        f"{enough.value:.2f} times that of exact draws; Ensemble++ with about {FEW} has {few.value:.2f} times; members "
        f"needed for {CLOSE:g} times: {plain.value:.1f} and {plus.value:.1f}.",
    )


def figure(results: StudyResults) -> Figure:
    """Ratios against the number of members."""
    return numbers_along(_ratios(results), "members", "regret / exact", log="xy", marks=(1.0,))
