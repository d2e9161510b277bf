"""Growth exponents of regret at each spread, less that of exact draws, and ratios of regret."""

from matplotlib.figure import Figure

from experiments.analysis.claims import Judgement, Numbers, by_parts, untested
from experiments.analysis.measures import cell_of, growth_difference, ratio, values_of
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval
from experiments.figures.claims import regret_lines

SLACK = 0.15  # a difference of exponents that is certainly below this is no change of the rate
CONSTANT = 1.0  # a ratio of regrets whose interval leaves this out is a change of the constant
CAPTION = "Cumulative regret on logarithmic axes: equal slopes are equal rates."


def measure(results: StudyResults) -> dict[str, Interval]:
    """Exponent and constant at each spread, against exact draws."""
    numbers = {}
    for spread in values_of(results, "sampler.spread", sampler="control"):
        other = {"sampler": "control", "sampler.spread": spread}
        numbers[f"growth exponent, spread {spread:g}, less that of exact draws"] = growth_difference(
            results, other, {"sampler": "exact"}
        )
        numbers[f"regret, spread {spread:g}, over that of exact draws"] = ratio(
            results, other, {"sampler": "exact"}
        )
    return numbers


def judge(numbers: Numbers) -> Judgement:
    """The rate is kept if no exponent is certainly larger by the slack; it must be known that well."""
    growth = {name: number for name, number in numbers.items() if name.startswith("growth")}
    ratios = {name: number for name, number in numbers.items() if name.startswith("regret")}
    open_ = [name for name, number in growth.items() if number.low <= SLACK < number.high]
    if open_ or not growth:
        return untested(f"the intervals of {len(open_)} of {len(growth)} exponents reach beyond {SLACK:g}")
    moved = [name for name, number in ratios.items() if not number.low <= CONSTANT <= number.high]
    least, most = min(n.value for n in ratios.values()), max(n.value for n in ratios.values())
    parts = {name.split(",")[1].strip(): number.high <= SLACK for name, number in growth.items()}
    return by_parts(
        parts,
        f"With the spread off by a constant factor the growth exponent rises by at most "
        f"{max(n.value for n in growth.values()):+.2f}, while regret is {least:.2f} to {most:.2f} times that of exact "
        f"draws ({len(moved)} of {len(ratios)} ratios differ from 1).",
    )


def figure(results: StudyResults) -> Figure:
    """Regret against rounds, by spread."""
    lines = {"exact draws": cell_of(results, sampler="exact")}
    for spread in values_of(results, "sampler.spread", sampler="control"):
        lines[f"spread {spread:g}"] = cell_of(results, sampler="control", sampler__spread=spread)
    return regret_lines(results, lines, log=True)
