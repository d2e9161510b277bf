"""Findings of the study `budget`: how many gradients a round each sampler needs."""

import numpy as np

from experiments.analysis.findings import best_diagnostics, cheapest_samplers, format_work
from experiments.analysis.results import StudyResults
from experiments.config.text import counted


def findings(results: StudyResults) -> list[str]:
    """The cheapest samplers, diagnostics against regret, then the cost of closeness of each sampler."""
    sentences = []
    for (environment, sampler), cost in results.costs.items():
        if np.isfinite(cost.gradients_per_round.value):
            text = f"comes within 10% of exact regret at {format_work(cost)}"
        elif np.isfinite(cost.gradients_per_round.low):
            text = (
                "does not come within 10% of exact regret at any of these budgets by its mean; by its interval perhaps "
                f"at {counted(cost.gradients_per_round.low, 'gradient')} a round"
            )
        else:
            text = "does not come within 10% of exact regret at any of these budgets, by its whole interval"
        sentences.append(f"{environment}: {sampler} {text}.")
    return cheapest_samplers(results.costs) + best_diagnostics(results) + sentences
