"""The table of the study `delay`: the cost of every delay, and how much of it is paid late."""

from experiments.analysis.results import StudyResults
from experiments.analysis.summary import to_frame
from experiments.studies import StudyTable
from experiments.studies.delay.costs import delay_costs

CAPTION = (
    "Cost of a delay: final regret beyond that of the same sampler without one, paired, mean with its 95% interval. "
    "`late_share`: the part of it in the second half of the rounds, 0 if the cost is paid once; "
    "`late_share_of_regret`: the part of a cost that grows in proportion to regret. Delays are constant, or geometric "
    "with this mean, or heavy-tailed with this median; of the last, those beyond the memory are never observed."
)


def tables(results: StudyResults) -> dict[str, StudyTable]:
    """A row per sampler and delay."""
    rows = []
    for one in delay_costs(results):
        cost, late = one.total, one.late_share
        rows.append(
            {
                "sampler": one.sampler,
                "delays": one.distribution,
                "delay": one.delay,
                "regret_without": float(one.regret[:, -1].mean()),
                "cost": cost.value,
                "cost_low": cost.low,
                "cost_high": cost.high,
                "late_share": late.value,
                "late_share_low": late.low,
                "late_share_high": late.high,
                "late_share_of_regret": one.late_share_of_regret,
            }
        )
    columns = ("sampler", "delays", "delay", "regret_without", "cost", "late_share", "late_share_of_regret")
    return {"delays": StudyTable("Cost of a delay", CAPTION, columns, to_frame(rows))}
