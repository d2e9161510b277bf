"""Regret of particles that are carried over, against a longer chain, against no forgetting and uniform play."""

from typing import Any

from matplotlib.figure import Figure

from experiments.analysis.claims import Judgement, Numbers, by_parts, untested
from experiments.analysis.measures import cell_of, growth_of, ratio
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval
from experiments.figures.claims import regret_lines

CLOSE = 1.2  # a ratio of regrets that is certainly below this is close
CAPTION = (
    "Cumulative regret while the truth drifts: particles with and without forgetting, and one long chain."
)
DISCOUNT = 0.98

SMC: dict[str, Any] = {"sampler": "smc", "posterior.discount": DISCOUNT}
STATIC: dict[str, Any] = {"sampler": "smc", "posterior.discount": None}
CHAIN: dict[str, Any] = {"sampler": "mala", "posterior.discount": DISCOUNT}
UNIFORM: dict[str, Any] = {"agent": "uniform"}


def measure(results: StudyResults) -> dict[str, Interval]:
    """Ratios of regrets, and the growth exponent of SMC."""
    return {
        "regret of SMC over that of a long chain": ratio(results, SMC, CHAIN),
        "regret of SMC over that without forgetting": ratio(results, SMC, STATIC),
        "regret of SMC over that of uniform play": ratio(results, SMC, UNIFORM),
        "growth exponent of SMC": growth_of(results, SMC),
    }


def judge(numbers: Numbers) -> Judgement:
    """As good as a long chain, better than without forgetting, and better than half of uniform play."""
    chain = numbers["regret of SMC over that of a long chain"]
    static = numbers["regret of SMC over that without forgetting"]
    uniform = numbers["regret of SMC over that of uniform play"]
    if chain.low < CLOSE < chain.high:
        return untested(
            f"the ratio to a long chain's regret, {chain.format('.2f')}, is not certainly below or above {CLOSE:g}"
        )
    parts = {
        f"regret is within {CLOSE:g} times that of a long chain on the same posterior": chain.high < CLOSE,
        "regret is less than without forgetting": static.high < 1,
        "regret is less than half that of uniform play": uniform.high < 0.5,
    }
    return by_parts(
        parts,
        f"Particles carried over have {chain.value:.2f} times the regret of a long chain on the same discounted "
        f"posterior, {static.value:.2f} times that of particles that never forget, and {uniform.value:.2f} times that "
        "of uniform play.",
    )


def figure(results: StudyResults) -> Figure:
    """Regret against rounds."""
    lines = {
        "SMC, discounted": SMC,
        "SMC, no discount": STATIC,
        "MALA, 20 steps, discounted": CHAIN,
        "uniform": UNIFORM,
    }
    return regret_lines(results, {name: cell_of(results, **which) for name, which in lines.items()})
