"""Regret at each number of steps over that of exact draws, with warm and with cold starts."""

from matplotlib.figure import Figure

from experiments.analysis.claims import Judgement, Numbers, above, all_of, any_of, below, by_parts
from experiments.analysis.measures import growth_of, ratio, values_of
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval
from experiments.figures.claims import numbers_along

CLOSE = 1.5  # a ratio to exact draws that is certainly below this is a constant factor
WORSE = 1.1  # a cold start's regret over a warm one's that is certainly above this is worse
SUBLINEAR = 0.6  # growth that is certainly below this is slower than sqrt(T) or close to it
CAPTION = "Regret over that of exact draws, with 95% intervals, against the Langevin steps of a round."
STARTS = {"warm": True, "cold": False}


def measure(results: StudyResults) -> dict[str, Interval]:
    """Ratios of regret, and the growth with one step and a warm start."""
    numbers = {}
    for start, warm in STARTS.items():
        for steps in values_of(results, "sampler.num_steps", sampler="sgld"):
            cell = {"sampler": "sgld", "sampler.num_steps": steps, "agent.warm_start": warm}
            numbers[f"regret over exact, {start} start, K={steps}"] = ratio(
                results, cell, {"sampler": "exact"}
            )
            if not warm:
                numbers[f"cold start over warm start, K={steps}"] = ratio(
                    results, cell, cell | {"agent.warm_start": True}
                )
            else:
                numbers[f"growth exponent, {start} start, K={steps}"] = growth_of(results, cell)
    return numbers


def _ratios(numbers: Numbers, start: str) -> dict[float, Interval]:
    prefix = f"regret over exact, {start} start, K="
    return {int(name.removeprefix(prefix)): n for name, n in numbers.items() if name.startswith(prefix)}


def judge(numbers: Numbers) -> Judgement:
    """A warm start must be within a constant of exact draws from few steps on, and a cold one worse."""
    warm, cold = _ratios(numbers, "warm"), _ratios(numbers, "cold")
    close = {
        steps: all_of(*(below(warm[k], CLOSE) for k in warm if k >= steps))
        for steps in warm
        if steps < max(warm)
    }
    enough = next((steps for steps, holds in close.items() if holds), None)
    first, last = min(warm), max(warm)
    growth = numbers[f"growth exponent, warm start, K={first if enough is None else enough}"]
    few = "few" if enough is None else str(enough)
    parts = {
        f"with a warm start {few} step{'' if enough == 1 else 's'} a round are within {CLOSE:g} times exact draws": (
            any_of(*close.values())
        ),
        f"regret then grows slower than T^{SUBLINEAR:g}": below(growth, SUBLINEAR),
        "a cold start has more regret than a warm one": any_of(
            *(above(n, WORSE) for name, n in numbers.items() if name.startswith("cold start over warm"))
        ),
    }
    return by_parts(
        parts,
        f"With a warm start regret is {warm[first].value:.2f} times that of exact draws at {first} step and "
        f"{warm[last].value:.2f} at {last}; with a cold start {cold[first].value:.2f} and {cold[last].value:.2f}.",
    )


def figure(results: StudyResults) -> Figure:
    """Ratios against the number of steps."""
    numbers = measure(results)
    groups = {f"{start} start": _ratios(numbers, start) for start in STARTS}
    return numbers_along(groups, "steps a round", "regret / exact", log="xy", marks=(1.0,))
