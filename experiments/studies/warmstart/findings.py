"""Findings of the study `warmstart`: what a cold start costs at equal budget."""

from experiments.analysis.findings import MAX_FINDINGS, format_budget
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import mean_interval
from experiments.config.text import counted
from experiments.studies.warmstart.tables import differences


def findings(results: StudyResults) -> list[str]:
    """How many budgets have more regret with a cold start, and the dearest one, by environment."""
    sentences, all_differences = [], differences(results)
    for environment in dict.fromkeys(environment for environment, _ in all_differences):
        costs = {
            budget: mean_interval(by_run)
            for (own, budget), by_run in all_differences.items()
            if own == environment
        }
        more = sum(cost.low > 0 for cost in costs.values())
        dearest = max(costs, key=lambda budget: costs[budget].value)
        sentences.append(
            f"On {environment} a cold start has more regret than a warm one at {more} of "
            f"{counted(len(costs), 'budget')}; it costs most with {format_budget(dearest)}: "
            f"{costs[dearest].format('auto')}."
        )
    return sentences[:MAX_FINDINGS]
