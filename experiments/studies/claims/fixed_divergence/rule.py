"""Growth exponents of regret: of exact draws, with too little and too much exploration, and with forced exploration."""

from matplotlib.figure import Figure

from experiments.analysis.claims import Judgement, Numbers, by_parts, untested
from experiments.analysis.measures import cells_of, growth_of
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
    """The cells by name; those with forced exploration say so."""
    cells = {}
    for name, settings in SAMPLERS.items():
        for cell in cells_of(results, **settings):
            forced = cell.flat.get("exploration.rate", 0) > 0
            cells[f"{name}, forced exploration" if forced else name] = cell
    return cells


def measure(results: StudyResults) -> dict[str, Interval]:
    """The growth exponent of each."""
    return {f"growth exponent, {name}": growth_of(results, cell) for name, cell in _cells(results).items()}


def judge(numbers: Numbers) -> Judgement:
    """Four parts, each decided by its interval; exact draws must learn, else nothing is shown."""
    growth = {name.removeprefix("growth exponent, "): number for name, number in numbers.items()}
    exact = growth["exact draws"]
    if not exact.high < SUBLINEAR:
        return untested(f"even exact draws have a growth exponent of {exact.format('.2f')} at this horizon")
    parts = {
        "too little exploration makes regret linear": growth["too little"].low > LINEAR,
        "too much exploration makes regret linear": growth["too much"].low > LINEAR,
        "forced exploration repairs too little": growth["too little, forced exploration"].high < SUBLINEAR,
        "forced exploration does not repair too much": growth["too much, forced exploration"].low > LINEAR,
    }
    values = ", ".join(f"{number.value:.2f} ({name})" for name, number in growth.items())
    return by_parts(parts, f"Growth exponents of regret, 1 being linear: {values}.")


def figure(results: StudyResults) -> Figure:
    """Regret against rounds."""
    return regret_lines(results, _cells(results), log=True)
