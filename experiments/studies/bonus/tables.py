"""The table of the study `bonus`: what the feel-good term saves each sampler, and how much of it is the posterior's."""

import numpy as np

from experiments.analysis.findings import format_budget
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import mean_interval, paired_difference
from experiments.analysis.summary import Row, to_frame
from experiments.config.cell import REFERENCE
from experiments.studies import StudyTable
from experiments.studies.bonus.gains import gains

CAPTION = (
    "What the feel-good term saves. Regret at c = 0 minus that at the c that is best on the other half of the runs, "
    "mean with its 95% interval and median. With exact draws that is the posterior's effect; what a sampler gains "
    "beyond it is the sampler's own. Accurate: actions are right at c = 0 and at the best c."
)


def tables(results: StudyResults) -> dict[str, StudyTable]:
    """A row per environment, sampler and budget."""
    rows: list[Row] = []
    for environment, here in gains(results).items():
        exact = here.get((REFERENCE, 0))
        for who, own in here.items():
            saved = mean_interval(own.saved)
            row: Row = {
                "environment": environment,
                "sampler": format_budget(who),
                "accurate": {None: "unknown", True: "no", False: "yes"}[own.wrong],
                "best_c": " and ".join(f"{c:g}" for c in dict.fromkeys(own.best)),
                "saved": saved.value,
                "saved_low": saved.low,
                "saved_high": saved.high,
                "median": float(np.median(own.saved)),
            }
            if exact is not None and own is not exact:
                beyond = paired_difference(own.saved, exact.saved)
                row |= {
                    "beyond_exact": beyond.value,
                    "beyond_exact_low": beyond.low,
                    "beyond_exact_high": beyond.high,
                }
            rows.append(row)
    columns = ("environment", "sampler", "accurate", "best_c", "saved", "median", "beyond_exact")
    return {"gains": StudyTable("What the feel-good term saves", CAPTION, columns, to_frame(rows))}
