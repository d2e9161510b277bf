"""How much of a delay's cost is paid in the second half of the rounds, and how it grows with the delay."""

from matplotlib.figure import Figure

from experiments.analysis.claims import Judgement, Numbers, by_parts, untested
from experiments.analysis.measures import MissingCellsError, slope
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval
from experiments.config.cell import REFERENCE
from experiments.studies.delay.costs import DelayCost, delay_costs
from experiments.studies.delay.figures import cost_of_delay

LINEAR = 1.25  # an exponent of the delay that is certainly below this is at most linear
CAPTION = (
    "Left: regret beyond that without a delay, against the mean delay; the grey line is proportional to it. Right: "
    "along the rounds at the longest delay; dotted, a cost in proportion to the regret so far."
)
LATE = "late share of the cost less that of regret"
EXPONENT = "exponent of the cost in the delay"


def measure(results: StudyResults) -> dict[str, Interval]:
    """By sampler: the late share of the longest delay's cost less that of all regret; the exponent in the delay."""
    lines: dict[str, list[DelayCost]] = {}
    for one in delay_costs(results):
        lines.setdefault("exact" if one.sampler == REFERENCE else one.sampler, []).append(one)
    if not lines:
        raise MissingCellsError("there is no sampler that was run with and without a delay")
    numbers = {}
    for name, line in lines.items():
        line.sort(key=lambda one: one.delay)
        numbers[f"cost of the longest delay, {name}"] = line[-1].total
        numbers[f"{LATE}, {name}"] = line[-1].late_share_difference
        numbers[f"{EXPONENT}, {name}"] = slope([one.delay for one in line], [one.total for one in line])
    return numbers


def judge(numbers: Numbers) -> Judgement:
    """Paid early, and at most linear in the delay, for exact draws and for approximate ones."""
    names = [name.rpartition(", ")[2] for name in numbers if name.startswith("cost")]
    if not all(numbers[f"cost of the longest delay, {name}"].low > 0 for name in names):
        return untested("the longest delay has no certain cost for every sampler")
    parts = {}
    for name in names:
        who = "exact draws" if name == "exact" else name
        parts[f"the cost of {who} is paid earlier than their regret"] = numbers[f"{LATE}, {name}"].high < 0
        parts[f"the cost of {who} is at most linear in the delay"] = (
            numbers[f"{EXPONENT}, {name}"].high < LINEAR
        )
    seen = "; ".join(
        f"with {'exact draws' if name == 'exact' else name} the longest delay costs "
        f"{numbers[f'cost of the longest delay, {name}'].value:.1f}, the share of it in the second half differs from "
        f"that of regret by {numbers[f'{LATE}, {name}'].value:+.0%}, and it grows as the delay to the power "
        f"{numbers[f'{EXPONENT}, {name}'].value:.1f}"
        for name in names
    )
    return by_parts(parts, f"{seen[0].upper()}{seen[1:]}.")


def figure(results: StudyResults) -> Figure:
    """The cost against the delay, and along the rounds."""
    return cost_of_delay(results)
