"""Findings of the study `samplers`: how good each sampler is as it is used, and which diagnostics predict regret."""

from collections.abc import Sequence

import numpy as np

from experiments.analysis.diagnostics_vs_regret import within_cell
from experiments.analysis.findings import added_regret, best_diagnostics, cheapest_samplers, gaps_to_exact
from experiments.analysis.pairs import Pair
from experiments.analysis.results import StudyResults


def findings(results: StudyResults) -> list[str]:
    """Diagnostics against regret, gaps to exact draws, the cheapest samplers, associations within a sampler."""
    return (
        best_diagnostics(results)
        + added_regret(results.pairs)
        + gaps_to_exact(results.pairs)
        + cheapest_samplers(results.costs)
        + _within_samplers(results.probed_pairs)
    )


def _within_samplers(pairs: Sequence[Pair]) -> list[str]:
    """Whether the rounds with a worse action distribution are those with more regret, sampler by sampler."""
    correlations = [(pair, within_cell(pair, "total_variation")) for pair in pairs]
    clear = [
        f"{pair.environment} {pair.label()} ({correlation.format('+.2f')})"
        for pair, correlation in correlations
        if np.isfinite(correlation.low) and not correlation.contains_zero
    ]
    if not clear:
        return []
    return [
        "Within a sampler, over runs and probe rounds, total_variation goes with the regret gap in: "
        f"{', '.join(clear)}."
    ]
