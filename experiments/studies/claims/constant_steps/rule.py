"""Regret at each number of steps over that of exact draws, with warm and with cold starts."""

from matplotlib.figure import Figure

from experiments.analysis.claims import Judgement, Numbers, by_parts, untested
from experiments.analysis.measures import growth_of, ratio, values_of
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval
from experiments.figures.claims import numbers_along

CLOSE = 1.5  # a ratio to exact draws that is certainly below this is a constant factor
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
            if warm:
                numbers[f"growth exponent, {start} start, K={steps}"] = growth_of(results, cell)
    return numbers


def _ratios(numbers: Numbers, start: str) -> dict[float, Interval]:
    prefix = f"regret over exact, {start} start, K="
    return {int(name.removeprefix(prefix)): n for name, n in numbers.items() if name.startswith(prefix)}


def judge(numbers: Numbers) -> Judgement:
    """A warm start must be within a constant of exact draws from few steps on, and a cold one worse there."""
    warm, cold = _ratios(numbers, "warm"), _ratios(numbers, "cold")
    enough = [steps for steps in warm if all(warm[k].high < CLOSE for k in warm if k >= steps)]
    if not enough and all(n.low < CLOSE for n in warm.values()):
        return untested(f"no ratio with a warm start is certainly below or above {CLOSE:g}")
    first = min(warm)
    growth = numbers[f"growth exponent, warm start, K={min(enough, default=first)}"]
    parts = {
        f"{min(enough, default=0)} steps are enough with a warm start": bool(enough)
        and min(enough) < max(warm),
        "regret then grows slower than T^0.6": bool(enough) and growth.high < SUBLINEAR,
        "a cold start needs more steps than a warm one": any(
            cold[k].low > warm[k].high for k in warm if k in cold
        ),
    }
    return by_parts(
        parts,
        f"With a warm start regret is {warm[first].value:.2f} times that of exact draws at {first} step and "
        f"{warm[max(warm)].value:.2f} at {max(warm)}; with a cold start {cold[first].value:.2f} and "
        f"{cold[max(cold)].value:.2f}.",
    )


def figure(results: StudyResults) -> Figure:
    """Ratios against the number of steps."""
    numbers = measure(results)
    groups = {f"{start} start": _ratios(numbers, start) for start in STARTS}
    return numbers_along(groups, "steps a round", "regret / exact", log="xy", marks=(1.0,))
