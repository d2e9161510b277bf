"""Regret and gradients with doubling refreshes, over those of sampling in every round."""

from matplotlib.figure import Figure

from experiments.analysis.claims import Judgement, Numbers, above, below, by_parts
from experiments.analysis.measures import cells_of, gradients, growth_difference, ratio
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval
from experiments.figures.claims import regret_lines

CONSTANT = 3.0  # a ratio of regrets that is certainly below this is a constant
SLACK = 0.2  # a difference of growth exponents that is certainly below this is none
FEWER = 20.0  # by this factor gradients must fall
CAPTION = "Cumulative regret, by the rounds in which the posterior is sampled."
SCHEDULES = ("every_round", "doubling", "periodic")


def _which(schedule: str) -> dict[str, str]:
    return {"sampler": "sgld", "agent.refresh": schedule}


def measure(results: StudyResults) -> dict[str, Interval]:
    """Ratios to sampling in every round."""
    every = _which("every_round")
    work = gradients(results, every).value
    numbers = {}
    for schedule in SCHEDULES[1:]:
        own = _which(schedule)
        used = gradients(results, own)
        numbers[f"regret over every round, {schedule}"] = ratio(results, own, every)
        numbers[f"growth exponent less that of every round, {schedule}"] = growth_difference(
            results, own, every
        )
        numbers[f"gradients of every round over its own, {schedule}"] = Interval(
            work / used.value, work / used.high, work / used.low
        )
    return numbers


def judge(numbers: Numbers) -> Judgement:
    """Regret within a constant, no faster growth, and far fewer gradients."""
    regret = numbers["regret over every round, doubling"]
    growth = numbers["growth exponent less that of every round, doubling"]
    fewer = numbers["gradients of every round over its own, doubling"]
    parts = {
        f"regret is within {CONSTANT:g} times that of sampling in every round": below(regret, CONSTANT),
        "regret grows no faster": below(growth, SLACK),
        f"gradients fall by a factor of {FEWER:g} or more": above(fewer, FEWER),
    }
    return by_parts(
        parts,
        f"Sampled only when a count doubles, regret is {regret.value:.2f} times that of sampling in every round, its "
        f"growth exponent differs by {growth.value:+.2f}, and gradients fall by a factor of {fewer.value:.0f}.",
    )


def figure(results: StudyResults) -> Figure:
    """Regret against rounds."""
    names = {"every_round": "every round", "doubling": "when a count doubles", "periodic": "every 100 rounds"}
    return regret_lines(results, {names[s]: cells_of(results, **_which(s))[0] for s in SCHEDULES}, log=True)
