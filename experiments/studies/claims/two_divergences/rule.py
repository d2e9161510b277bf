"""Growth exponents of regret at each spread, less that of exact draws, and ratios of regret."""

from matplotlib.figure import Figure

from experiments.analysis.claims import Judgement, Numbers, all_of, below, by_parts
from experiments.analysis.measures import cell_of, growth_difference, growth_of, ratio, values_of
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval
from experiments.figures.claims import regret_lines

SLACK = 0.15  # an exponent that is certainly less than this above another is no faster growth
SQRT = 0.5  # the exponent of the rate that is claimed, sqrt(T)
CONSTANT = 1.0  # a ratio of regrets whose interval leaves this out is a change of the constant
CAPTION = "Cumulative regret on logarithmic axes: equal slopes are equal rates."


def measure(results: StudyResults) -> dict[str, Interval]:
    """Exponent and constant at each spread, against exact draws."""
    numbers = {"growth exponent, exact draws": growth_of(results, {"sampler": "exact"})}
    for spread in values_of(results, "sampler.spread", sampler="control"):
        other = {"sampler": "control", "sampler.spread": spread}
        numbers[f"growth exponent, spread {spread:g}"] = growth_of(results, other)
        numbers[f"exponent above that of exact draws, spread {spread:g}"] = growth_difference(
            results, other, {"sampler": "exact"}
        )
        numbers[f"regret over that of exact draws, spread {spread:g}"] = ratio(
            results, other, {"sampler": "exact"}
        )
    return numbers


def judge(numbers: Numbers) -> Judgement:
    """Regret must grow no faster than sqrt(T) at each spread, nor than with exact draws."""
    growth, more, ratios = (
        {name.removeprefix(prefix): n for name, n in numbers.items() if name.startswith(prefix)}
        for prefix in (
            "growth exponent, spread ",
            "exponent above that of exact draws, spread ",
            "regret over that of exact draws, spread ",
        )
    )
    moved = [name for name, number in ratios.items() if not number.low <= CONSTANT <= number.high]
    least, most = min(n.value for n in ratios.values()), max(n.value for n in ratios.values())
    parts = {
        "regret grows no faster than sqrt(T) at any spread": all_of(
            *(below(n, SQRT + SLACK) for n in growth.values())
        )
    }
    parts |= {
        f"it grows no faster than with exact draws at spread {name}": below(n, SLACK)
        for name, n in more.items()
    }
    return by_parts(
        parts,
        f"With the spread off by a constant factor regret grows with powers of "
        f"{min(n.value for n in growth.values()):.2f} to {max(n.value for n in growth.values()):.2f} of T, at most "
        f"{max(n.value for n in more.values()):+.2f} above exact draws, and is {least:.2f} to {most:.2f} times that of "
        f"exact draws ({len(moved)} of {len(ratios)} ratios differ from 1).",
    )


def figure(results: StudyResults) -> Figure:
    """Regret against rounds, by spread."""
    lines = {"exact draws": cell_of(results, sampler="exact")}
    for spread in values_of(results, "sampler.spread", sampler="control"):
        lines[f"spread {spread:g}"] = cell_of(results, sampler="control", sampler__spread=spread)
    return regret_lines(results, lines, log=True)
