"""Rank correlations with the regret gap over cells: of joint and marginal log-loss, and of other diagnostics."""

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from scipy.stats import rankdata

from experiments.analysis.arrays import diagnostic
from experiments.analysis.claims import Judgement, Numbers, above, below, by_parts, untested
from experiments.analysis.measures import MissingCellsError
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import MIN_UNITS, Interval, bootstrap, known_median, spearman
from experiments.figures.claims import named_numbers

STRONG = 0.5  # a correlation that is certainly above this is strong, one that is certainly below it weak
MORE = "joint less marginal, difference of correlations"
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
    values = {
        name: np.array([known_median(diagnostic(pair.data, key)) for pair in pairs])
        for name, key in METRICS.items()
    }
    numbers = {name: spearman(own, gaps) for name, own in values.items()}
    joint, marginal = (values[name] for name in list(METRICS)[:2])
    numbers[MORE] = _difference(joint, marginal, gaps)
    return numbers


def _difference(
    joint: Float[np.ndarray, " cells"],
    marginal: Float[np.ndarray, " cells"],
    gaps: Float[np.ndarray, " cells"],
) -> Interval:
    """Rank correlation with the gaps of the first less that of the second; cells are resampled, with their ranks."""
    rows = np.stack([rankdata(column) for column in (joint, marginal, gaps)], axis=1)

    def difference(rows: Float[np.ndarray, "*batch cells 3"]) -> Float[np.ndarray, "*batch"]:
        centred = rows - rows.mean(axis=-2, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            unit = centred / np.linalg.norm(centred, axis=-2, keepdims=True)
        own = np.sum(unit[..., :2] * unit[..., 2:], axis=-2)
        return np.asarray(own[..., 0] - own[..., 1])

    return bootstrap(rows, difference)


def judge(numbers: Numbers) -> Judgement:
    """Joint quality must go with regret, marginal quality must not, and certainly less so."""
    joint, marginal = (numbers[name] for name in list(METRICS)[:2])
    if joint.contains_zero and marginal.contains_zero:
        return untested("neither correlation excludes zero with this number of cells")
    parts = {
        "joint quality goes with regret": above(joint, STRONG),
        "marginal quality does not": below(marginal, STRONG),
        "joint quality goes with it more closely than marginal": above(numbers[MORE], 0),
    }
    known = {name: n for name, n in numbers.items() if name in METRICS and np.isfinite(n.value)}
    best = max(known, key=lambda name: known[name].value)
    return by_parts(
        parts,
        f"Over these cells the rank correlation with the regret gap is {joint.format('.2f')} for joint and "
        f"{marginal.format('.2f')} for marginal log-loss; the closest of all is {best} ({known[best].value:.2f}).",
    )


def figure(results: StudyResults) -> Figure:
    """Correlations, a row each."""
    return named_numbers(measure(results), "rank correlation with the regret gap", marks=(0.0,))
