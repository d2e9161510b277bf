"""The table of the study `general`: Thompson sampling against every other agent, run by run."""

from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import paired_difference
from experiments.analysis.summary import Row, to_frame
from experiments.studies import StudyTable

CAPTION = (
    "Thompson sampling against other agents. Paired difference in final regret, Thompson minus the other, mean with "
    "its 95% interval, and the share of runs in which Thompson sampling has less."
)


def comparison_rows(results: StudyResults) -> list[Row]:
    """A row per cell of Thompson sampling and other agent on the same environment."""
    rows = []
    for cell in results.done:
        if cell.flat["agent"] != "thompson":
            continue
        for other in results.done:
            if other.flat["agent"] == "thompson" or other.flat["environment"] != cell.flat["environment"]:
                continue
            own, theirs = results.final(cell), results.final(other)
            difference = paired_difference(own, theirs)
            rows.append(
                {
                    "environment": cell.flat["environment"],
                    "reward": cell.flat["reward"],
                    "posterior": cell.flat["posterior"],
                    "other": other.flat["agent"],
                    "regret": float(own.mean()),
                    "regret_of_other": float(theirs.mean()),
                    "difference": difference.value,
                    "difference_low": difference.low,
                    "difference_high": difference.high,
                    "share_of_runs": float((own < theirs).mean()),
                }
            )
    return rows


def tables(results: StudyResults) -> dict[str, StudyTable]:
    """The comparisons."""
    columns = (
        "environment", "reward", "posterior", "other", "regret", "regret_of_other", "difference", "share_of_runs",
    )  # fmt: skip
    frame = to_frame(comparison_rows(results))
    return {"comparisons": StudyTable("Thompson sampling against other agents", CAPTION, columns, frame)}
