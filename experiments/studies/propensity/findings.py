"""Findings of the study `propensity`: when an estimate from logged propensities is biased, and by how much."""

from collections.abc import Sequence

from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import LEVEL, Interval, mean_interval
from experiments.config.text import counted
from experiments.studies.propensity.biases import POSTERIOR, REPLICAS, Logged, logged


def findings(results: StudyResults) -> list[str]:
    """Propensities of replicas, those of the posterior, and what a doubly robust estimate repairs."""
    found = logged(results)
    if not found:
        return []
    return [*_replicas(found), *_posterior(found)]


def certain(found: Sequence[Logged], source: str, estimator: str = "ips") -> list[Logged]:
    """Those whose bias is certain, at a level that all comparisons share."""
    level = 1 - (1 - LEVEL) / len(found)
    intervals = {one.name: mean_interval(one.biases[source][estimator], level) for one in found}
    return [one for one in found if not intervals[one.name].contains_zero]


def _largest(found: Sequence[Logged], source: str) -> tuple[Logged, Interval]:
    one = max(found, key=lambda one: abs(one.bias(source).value))
    return one, one.bias(source)


def _replicas(found: Sequence[Logged]) -> list[str]:
    biased = certain(found, REPLICAS)
    worst, bias = _largest(biased or found, REPLICAS)
    start = (
        f"With propensities from replicas of their own draws {len(biased)} of {counted(len(found), 'sampler')} have a "
        "certain bias of the IPS estimate"
        if biased
        else f"With propensities from replicas of their own draws none of {counted(len(found), 'sampler')} has a "
        "certain bias of the IPS estimate, however wrong the draws are"
    )
    return [f"{start}; the largest has {worst.name}: {bias.format('+.3f')}."]


def _posterior(found: Sequence[Logged]) -> list[str]:
    biased = certain(found, POSTERIOR)
    if not biased:
        return [f"The posterior's own propensities bias none of {counted(len(found), 'sampler')} certainly."]
    worst, bias = _largest(biased, POSTERIOR)
    sentences = [
        f"The posterior's propensities, logged as if draws were exact, bias IPS for {len(biased)} of "
        f"{counted(len(found), 'sampler')}: most for {worst.name}, {bias.format('+.3f')}, where the best arm is worth "
        f"{worst.scale:.2f} more than the evaluated policy."
    ]
    robust = worst.bias(POSTERIOR, "doubly_robust")
    verb = "removes that bias as far as can be told" if robust.contains_zero else "leaves a bias"
    return [*sentences, f"There the doubly robust estimate {verb}: {robust.format('+.3f')}."]
