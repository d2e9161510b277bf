"""Growth exponents of regret: of exact draws, with too little and too much exploration, and with forced exploration."""

from matplotlib.figure import Figure

from experiments.analysis.claims import Judgement, Numbers, above, below, by_parts, untested
from experiments.analysis.measures import cells_of, growth_of, late_growth
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval
from experiments.config.cell import Cell
from experiments.figures.claims import regret_lines

LINEAR = 0.9  # an exponent whose interval is above this is linear
SUBLINEAR = 0.8  # one whose interval is below this is not
CAPTION = "Cumulative regret on logarithmic axes; a slope of 1 is linear."
SAMPLERS = {
    "exact draws": {"sampler": "exact"},
    "too little": {"sampler.perturbation": "truncate"},
    "too much": {"sampler.perturbation": "prior"},
}


def _cells(results: StudyResults) -> dict[str, Cell]:
    """The cells by name; those with forced exploration say how much."""
    cells = {}
    for name, settings in SAMPLERS.items():
        for cell in cells_of(results, **settings):
            rate = cell.flat.get("exploration.rate", 0)
            cells[f"{name}, forced {rate:g}/t" if rate > 0 else name] = cell
    return cells


def measure(results: StudyResults) -> dict[str, Interval]:
    """The growth exponent of each, of all regret and of what comes after the first quarter of the rounds."""
    numbers = {}
    for name, cell in _cells(results).items():
        numbers[f"growth exponent, {name}"] = growth_of(results, cell)
        numbers[f"late growth exponent, {name}"] = late_growth(results, cell)
    return numbers


def judge(numbers: Numbers) -> Judgement:
    """Parts decided by late exponents, which a transient does not move; exact draws must learn."""
    prefix = "late growth exponent, "
    growth = {name.removeprefix(prefix): n for name, n in numbers.items() if name.startswith(prefix)}
    exact = growth["exact draws"]
    if not exact.high < SUBLINEAR:
        return untested(f"even exact draws have a growth exponent of {exact.format('.2f')} at this horizon")
    parts = {
        "too little exploration makes regret linear": above(growth["too little"], LINEAR),
        "too much exploration makes regret linear": above(growth["too much"], LINEAR),
    }
    for name, number in growth.items():
        kind, _, forced = name.partition(", ")
        if forced and kind == "too little":
            parts[f"exploration {forced} repairs too little"] = below(number, SUBLINEAR)
        if forced and kind == "too much":
            parts[f"exploration {forced} does not repair too much"] = above(number, LINEAR)
    shown = ", ".join(f"{number.value:.2f} ({name})" for name, number in growth.items())
    return by_parts(parts, f"Growth exponents of regret after the first quarter, 1 being linear: {shown}.")


def figure(results: StudyResults) -> Figure:
    """Regret against rounds."""
    return regret_lines(results, _cells(results), log=True)
