"""Findings of the study `general`: Thompson sampling against agents that do not sample."""

from experiments.analysis.findings import MAX_FINDINGS
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval
from experiments.studies.general.tables import comparison_rows


def findings(results: StudyResults) -> list[str]:
    """The agent that comes closest to Thompson sampling, by environment; `comparisons.csv` has all."""
    rows, sentences = comparison_rows(results), []
    for environment in dict.fromkeys(row["environment"] for row in rows):
        here = [row for row in rows if row["environment"] == environment]
        row = max(here, key=lambda row: row["difference"])
        difference = Interval(row["difference"], row["difference_low"], row["difference_high"])
        verdict = (
            "less regret than"
            if difference.high < 0
            else "more regret than"
            if difference.low > 0
            else "the regret of"
        )
        sentences.append(
            f"On {environment} Thompson sampling has {verdict} the closest other agent, {row['other']}: "
            f"{difference.format('auto')} on {row['regret_of_other']:.3g}."
        )
    return sentences[:MAX_FINDINGS]
