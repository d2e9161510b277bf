"""Findings of the study `logistic`: regret against a reference by Gibbs sampling, and which diagnostics tell it."""

import numpy as np

from experiments.analysis.arrays import final_regret
from experiments.analysis.diagnostics_vs_regret import across_cells
from experiments.analysis.pairs import Pair
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval
from experiments.config.text import counted
from experiments.studies.logistic.reference import describe, reference_pairs


def findings(results: StudyResults) -> list[str]:
    """Which samplers have more regret than the reference, and whether distance or R-hat tells which."""
    pairs = reference_pairs(results)
    probed = [pair for pair in pairs if pair.diagnosed]
    if not pairs:
        return []
    return [_regret(pairs)] + ([_association(probed)] if len(probed) > 1 else [])


def _regret(pairs: list[Pair]) -> str:
    level = final_regret(pairs[0].reference).mean()
    worse = sorted(
        (pair for pair in pairs if pair.regret_gap.low > 0), key=lambda pair: -pair.regret_gap.value
    )
    cells = counted(len(pairs), "cell")
    text = f"Of {cells}, {len(worse)} certainly have more regret than Polya-Gamma Gibbs ({level:.1f})"
    if not worse:
        return f"{text}, by paired 95% intervals."
    return f"{text}; the most has {describe(worse[0])}, {worse[0].regret_gap.format()}."


def _association(pairs: list[Pair]) -> str:
    distance, rhat = (across_cells(pairs, name) for name in ("total_variation", "rhat"))
    return (
        f"Total variation to the gated reference {_tells(distance)}, and R-hat {_tells(rhat)}: rank correlations "
        f"{distance.format('+.2f')} and {rhat.format('+.2f')} with the added regret."
    )


def _tells(correlation: Interval) -> str:
    if not np.isfinite(correlation.low):
        return "is known of too few samplers to tell regret"
    return "tells regret" if correlation.low > 0 else "does not certainly tell regret"
