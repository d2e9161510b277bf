"""Regret of the Langevin samplers over that of linear Thompson sampling."""

from typing import Any

from matplotlib.figure import Figure

from experiments.analysis.claims import Judgement, Numbers, by_parts, untested
from experiments.analysis.measures import cell_of, ratio
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval
from experiments.figures.claims import regret_lines

FACTOR = (
    1.3  # twice the published 15%: a ratio that is certainly between 1/FACTOR and FACTOR is "about as good"
)
CAPTION = "Cumulative regret with 0/1 rewards."

LINTS = {"reward": "linear", "sampler": "exact"}
OTHERS: dict[str, dict[str, Any]] = {
    "LMC": {"posterior": "ts", "sampler": "sgld"},
    "MALA": {"posterior": "ts", "sampler": "mala"},
    "FG-LMC": {"posterior": "fgts_a", "sampler": "sgld"},
}


def measure(results: StudyResults) -> dict[str, Interval]:
    """Each sampler's regret over that of LinTS."""
    return {name: ratio(results, settings, LINTS) for name, settings in OTHERS.items()}


def judge(numbers: Numbers) -> Judgement:
    """A sampler is about as good if its ratio is certainly within the factor, in either direction."""
    open_ = [name for name, number in numbers.items() if not (_inside(number) or _outside(number))]
    if open_ or not numbers:
        return untested(
            f"the intervals of {', '.join(open_) or 'all samplers'} reach across {FACTOR:g} or 1/{FACTOR:g}"
        )
    seen = ", ".join(f"{name} {number.format('.2f')}" for name, number in numbers.items())
    parts = {f"the sampler is {name}": _inside(number) for name, number in numbers.items()}
    return by_parts(parts, f"Regret over that of linear Thompson sampling: {seen}.")


def _inside(number: Interval) -> bool:
    return number.low > 1 / FACTOR and number.high < FACTOR


def _outside(number: Interval) -> bool:
    return number.high < 1 / FACTOR or number.low > FACTOR


def figure(results: StudyResults) -> Figure:
    """Regret against rounds, by algorithm."""
    lines = {"LinTS": cell_of(results, **LINTS)}
    lines |= {name: cell_of(results, **settings) for name, settings in OTHERS.items()}
    return regret_lines(results, lines, log=False)
