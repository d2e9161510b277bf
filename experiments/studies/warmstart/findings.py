"""Findings of the study `warmstart`: what a cold start costs at equal budget."""

import numpy as np
from jaxtyping import Float

from experiments.analysis.findings import budget_of, format_budget
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import format_mean_and_median, mean_interval
from experiments.config.cell import REFERENCE

WARM = "agent.warm_start"


def findings(results: StudyResults) -> list[str]:
    """Which samplers have more or less regret with a cold start, then the paired difference of each."""
    cells = {(cell.flat["environment"], budget_of(cell), cell.flat[WARM]): cell for cell in results.done}
    costs: dict[str, dict[str, Float[np.ndarray, " runs"]]] = {}
    for environment, budget in dict.fromkeys((environment, budget) for environment, budget, _ in cells):
        warm, cold = (cells.get((environment, budget, start)) for start in (True, False))
        if warm and cold and budget[0] != REFERENCE:
            difference = results.final(cold) - results.final(warm)
            costs.setdefault(environment, {})[format_budget(budget)] = difference
    heads, sentences = [], []
    for environment, differences in costs.items():
        intervals = {name: mean_interval(difference) for name, difference in differences.items()}
        more = [name for name, interval in intervals.items() if interval.low > 0]
        less = [name for name, interval in intervals.items() if interval.high < 0]
        heads.append(
            f"{environment}: a cold start has more regret than a warm one with {', '.join(more) or 'none'}, less with "
            f"{', '.join(less) or 'none'}, of {len(differences)} compared at equal budget."
        )
        sentences += [
            f"{environment}: {name}, cold minus warm start: {format_mean_and_median(difference)} regret per run."
            for name, difference in differences.items()
        ]
    return heads + sentences
