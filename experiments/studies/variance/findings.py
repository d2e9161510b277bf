"""Findings of the study `variance`: what it costs not to know sigma_t."""

from experiments.analysis.findings import MAX_FINDINGS
from experiments.analysis.results import StudyResults
from experiments.analysis.summary import interval_of
from experiments.studies.variance.tables import REVEALED, cost_rows


def findings(results: StudyResults) -> list[str]:
    """The dearest variance model, by noise; `cost_of_variance.csv` has all."""
    rows, sentences = cost_rows(results), []
    for noise in dict.fromkeys(row["noise"] for row in rows):
        here = [row for row in rows if row["noise"] == noise]
        known = next(row["regret"] for row in here if row["variance"] == REVEALED)
        costs = {
            row["variance"]: cost for row in here if (cost := interval_of(row, "to_revealed")) is not None
        }
        if costs:
            name = max(costs, key=lambda name: costs[name].value)
            sentences.append(
                f"{noise} noise: of what can replace a revealed sigma_t, {name} costs most: "
                f"{costs[name].format('auto')} on {known:.3g}."
            )
    return sentences[:MAX_FINDINGS]
