"""The table of the study `logistic`: every cell beside the reference."""

from experiments.analysis.arrays import diagnostic
from experiments.analysis.diagnostics_vs_regret import wrong_actions
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import known_median
from experiments.analysis.summary import Row, to_frame
from experiments.studies import StudyTable
from experiments.studies.logistic.reference import describe, reference_pairs

CAPTION = (
    "Every cell beside Polya-Gamma Gibbs with the most sweeps. Actions are wrong where their total variation to gated "
    "NUTS chains is above three of its floors and 0.02; unknown where no chain passed the gate."
)
DIAGNOSTICS = ("total_variation", "total_variation_floor", "rhat", "nested_rhat", "sd_ratio")
ACTIONS = {True: "wrong", False: "right", None: "unknown"}


def tables(results: StudyResults) -> dict[str, StudyTable]:
    """A row per cell."""
    rows: list[Row] = []
    for pair in reference_pairs(results):
        gap = pair.regret_gap
        row: Row = {"cell": describe(pair), "actions": ACTIONS[wrong_actions(pair.data)]}
        row |= {"regret_gap": gap.value, "regret_gap_low": gap.low, "regret_gap_high": gap.high}
        if pair.diagnosed:
            row |= {name: known_median(diagnostic(pair.data, name)) for name in DIAGNOSTICS}
        rows.append(row)
    columns = ("cell", "regret_gap", "actions", *DIAGNOSTICS)
    return {"against_reference": StudyTable("Against the reference", CAPTION, columns, to_frame(rows))}
