"""Findings of the study `budget`: how many gradients a round each sampler needs; `cost.csv` has all of them."""

from experiments.analysis.findings import MAX_FINDINGS, best_diagnostic, cheapest_samplers
from experiments.analysis.results import StudyResults


def findings(results: StudyResults) -> list[str]:
    """The cheapest sampler by environment, and the best diagnostic."""
    return (cheapest_samplers(results.costs) + best_diagnostic(results))[:MAX_FINDINGS]
