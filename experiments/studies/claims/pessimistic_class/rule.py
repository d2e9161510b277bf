"""Growth of regret with and without the feel-good term, and their ratio."""

from matplotlib.figure import Figure

from experiments.analysis.claims import Judgement, Numbers, above, below, by_parts
from experiments.analysis.measures import cell_of, growth_of, ratio
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval
from experiments.figures.claims import regret_lines

LINEAR = 0.8  # growth that is certainly above this is linear so far
SQRT = 0.6  # growth that is certainly below this is sqrt(T) or slower
CAPTION = "Cumulative regret of Thompson sampling with and without the feel-good term."
POSTERIORS = {"TS": "ts", "FGTS-A": "fgts_a"}


def measure(results: StudyResults) -> dict[str, Interval]:
    """Growth exponents, and the ratio of regrets."""
    numbers = {
        f"growth exponent, {name}": growth_of(results, {"posterior": p}) for name, p in POSTERIORS.items()
    }
    numbers["regret of TS over that of FGTS-A"] = ratio(results, {"posterior": "ts"}, {"posterior": "fgts_a"})
    return numbers


def judge(numbers: Numbers) -> Judgement:
    """TS must be linear so far, FGTS-A must not, and have less regret."""
    ts, fgts = (numbers[f"growth exponent, {name}"] for name in POSTERIORS)
    times = numbers["regret of TS over that of FGTS-A"]
    parts = {
        "Thompson sampling fails": above(ts, LINEAR),
        "the feel-good term makes regret grow like sqrt(T) or slower": below(fgts, SQRT),
        "the feel-good term lowers regret": above(times, 1),
    }
    return by_parts(
        parts,
        f"Regret grows with the power {ts.format('.2f')} of T without the feel-good term and {fgts.format('.2f')} with "
        f"it; it is {times.value:.1f} times as large without.",
    )


def figure(results: StudyResults) -> Figure:
    """Regret against rounds."""
    return regret_lines(results, {name: cell_of(results, posterior=p) for name, p in POSTERIORS.items()})
