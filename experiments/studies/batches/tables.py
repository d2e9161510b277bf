"""The table of the study `batches`: regret and gradients by schedule."""

from experiments.analysis.results import StudyResults
from experiments.analysis.summary import to_frame
from experiments.studies import StudyTable
from experiments.studies.batches.schedules import schedules

CAPTION = (
    "A draw kept for m rounds, or rewards observed in batches of m rounds with a fresh draw in each. `regret_ratio`: "
    "over that of the same sampler with m = 1, runs paired, with its 95% interval; gradients are those of a run."
)


def tables(results: StudyResults) -> dict[str, StudyTable]:
    """A row per sampler, kind of schedule and m."""
    rows = []
    for one in schedules(results):
        ratio, regret = one.ratio, one.mean
        rows.append(
            {
                "sampler": one.sampler,
                "schedule": "rewards in batches" if one.batched else "draw kept",
                "m": one.every,
                "regret": regret.value,
                "regret_low": regret.low,
                "regret_high": regret.high,
                "regret_ratio": ratio.value,
                "regret_ratio_low": ratio.low,
                "regret_ratio_high": ratio.high,
                "gradients": one.gradients,
            }
        )
    columns = ("sampler", "schedule", "m", "regret", "regret_ratio", "gradients")
    return {"schedules": StudyTable("Sampling every m rounds", CAPTION, columns, to_frame(rows))}
