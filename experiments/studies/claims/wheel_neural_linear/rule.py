"""Regret in per cent of uniform play at each delta, against the numbers of the paper's table."""

import itertools
from typing import Any

from matplotlib.figure import Figure

from experiments.analysis.claims import Judgement, Numbers, by_parts, untested
from experiments.analysis.measures import ratio, values_of
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval
from experiments.figures.claims import numbers_along

PUBLISHED = {0.5: 0.95, 0.7: 1.60, 0.9: 4.65, 0.95: 9.56, 0.99: 49.6}  # per cent of uniform play
FACTOR = 2.0  # a size is reproduced if the interval meets the published number within this factor
VARIANTS: dict[str, dict[str, Any]] = {
    "published settings": {"agent.depth": 1, "agent.optimizer": "rmsprop"},
    "Adam": {"agent.depth": 1, "agent.optimizer": "adam"},
    "linear": {"agent.depth": 0},
}
CAPTION = "Regret in per cent of uniform play, with 95% intervals; the paper's table for comparison."


def measure(results: StudyResults) -> dict[str, Interval]:
    """Per cent of uniform play, for each variant and delta."""
    numbers = {}
    for name, settings in VARIANTS.items():
        for delta in values_of(results, "environment.delta", agent="uniform"):
            here = {"environment.delta": delta}
            share = ratio(
                results, {"agent": "neural_linear", **settings, **here}, {"agent": "uniform", **here}
            )
            numbers[f"{name}, delta={delta:g}"] = Interval(*(100 * bound for bound in share))
    return numbers


def judge(numbers: Numbers) -> Judgement:
    """Order: the share of uniform play surely grows with delta. Size: it is within a factor of two of the table."""
    parts: dict[str, bool] = {}
    seen = []
    for name in list(VARIANTS)[:2]:
        own = {delta: numbers[key] for delta in PUBLISHED if (key := f"{name}, delta={delta:g}") in numbers}
        deltas = sorted(own)
        if len(deltas) < 2:
            continue
        order = all(own[a].high < own[b].low for a, b in itertools.pairwise(deltas))
        parts[f"{name}, the order of the deltas"] = order
        for delta in deltas:
            low, high = PUBLISHED[delta] / FACTOR, PUBLISHED[delta] * FACTOR
            parts[f"{name}, the size at delta={delta:g}"] = own[delta].high >= low and own[delta].low <= high
        shares = ", ".join(
            f"{own[delta].value:.3g}% at {delta:g} ({own[delta].value / PUBLISHED[delta]:.2g} times the table's)"
            for delta in deltas
        )
        seen.append(f"{name}: {shares}")
    if not parts:
        return untested("fewer than two of the five deltas were run")
    return by_parts(parts, f"Regret in per cent of uniform play, {'; '.join(seen)}.")


def figure(results: StudyResults) -> Figure:
    """The shares against delta, and the paper's."""
    numbers = measure(results)
    lines: dict[str, dict[float, Interval]] = {
        "Riquelme et al.": {delta: Interval(share, share, share) for delta, share in PUBLISHED.items()}
    }
    for name in VARIANTS:
        lines[name] = {
            delta: numbers[key] for delta in PUBLISHED if (key := f"{name}, delta={delta:g}") in numbers
        }
    return numbers_along(lines, "delta", "% of uniform play's regret", log="y", marks=(100.0,))
