"""The table of the study `stiffness`: the gap to exact draws by condition number."""

import numpy as np

from experiments.analysis.diagnostics_vs_regret import condition_number
from experiments.analysis.results import StudyResults
from experiments.analysis.summary import to_frame
from experiments.studies import StudyTable
from experiments.studies.stiffness.findings import lines

CAPTION = (
    "Gap by condition number. Final regret minus that of exact draws, mean with its 95% interval and median, at the "
    "largest condition number that was met at a probe round."
)


def tables(results: StudyResults) -> dict[str, StudyTable]:
    """A row per sampler and alpha."""
    rows = [
        {
            "sampler": sampler,
            "alpha": alpha,
            "condition_number": condition_number(pair.data),
            "gap": pair.regret_gap.value,
            "gap_low": pair.regret_gap.low,
            "gap_high": pair.regret_gap.high,
            "median_gap": float(np.median(pair.regret_gap_by_run)),
        }
        for sampler, line in lines(results).items()
        for alpha, pair in line.items()
    ]
    columns = ("sampler", "alpha", "condition_number", "gap", "median_gap")
    return {"gap_by_condition": StudyTable("Gap by condition number", CAPTION, columns, to_frame(rows))}
