"""Rank correlations with the regret gap over cells: of joint and marginal log-loss, and of other diagnostics."""

import numpy as np
from matplotlib.figure import Figure

from experiments.analysis.arrays import diagnostic
from experiments.analysis.claims import Judgement, Numbers, by_parts, untested
from experiments.analysis.measures import MissingCellsError
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import MIN_UNITS, Interval, known_median, spearman
from experiments.figures.claims import named_numbers

STRONG = 0.5  # a correlation that is certainly above this
CAPTION = "Spearman's rank correlation with the regret gap to exact draws over cells, with 95% intervals."
METRICS = {
    "joint log-loss, 10 arms": "joint_log_loss",
    "marginal log-loss, 1 arm": "marginal_log_loss",
    "total variation of actions": "total_variation",
    "sliced Wasserstein distance": "sliced_wasserstein",
    "R-hat": "rhat",
}


def measure(results: StudyResults) -> dict[str, Interval]:
    """The rank correlations over all cells that have an exact reference; a cell's value is its median over probes."""
    pairs = results.probed_pairs
    if len(pairs) < MIN_UNITS:
        raise MissingCellsError(f"{len(pairs)} probed cells have an exact reference, fewer than {MIN_UNITS}")
    gaps = np.array([pair.regret_gap.value for pair in pairs])
    return {
        name: spearman(np.array([known_median(diagnostic(pair.data, key)) for pair in pairs]), gaps)
        for name, key in METRICS.items()
    }


def judge(numbers: Numbers) -> Judgement:
    """Joint quality must go with regret, and marginal quality certainly less so."""
    joint, marginal = (numbers[name] for name in list(METRICS)[:2])
    if joint.low <= 0 <= joint.high and marginal.low <= 0 <= marginal.high:
        return untested("neither correlation excludes zero with this number of cells")
    parts = {
        "joint quality goes with regret": joint.low > STRONG or (joint.low > 0 and joint.value > STRONG),
        "marginal quality does not": marginal.low <= 0,
        "joint quality goes with it more closely than marginal": marginal.high < joint.value,
    }
    best = max((name for name in numbers if np.isfinite(numbers[name].value)), key=lambda n: numbers[n].value)
    return by_parts(
        parts,
        f"Over these cells the rank correlation with the regret gap is {joint.format('.2f')} for joint and "
        f"{marginal.format('.2f')} for marginal log-loss; the closest of all is {best} ({numbers[best].value:.2f}).",
    )


def figure(results: StudyResults) -> Figure:
    """Correlations, a row each."""
    return named_numbers(measure(results), "rank correlation with the regret gap", marks=(0.0,))
