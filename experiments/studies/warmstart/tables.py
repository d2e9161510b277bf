"""The table of the study `warmstart`: cold against warm starts at equal budget."""

import numpy as np
from jaxtyping import Float

from experiments.analysis.findings import Budget, budget_of
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import mean_interval
from experiments.analysis.summary import to_frame
from experiments.config.cell import REFERENCE
from experiments.studies import StudyTable

WARM = "agent.warm_start"
CAPTION = (
    "Cold minus warm start. Paired difference in final regret at equal budget, mean with its 95% interval and "
    "median."
)


def differences(results: StudyResults) -> dict[tuple[str, Budget], Float[np.ndarray, " runs"]]:
    """Regret of a cold start minus that of a warm one, by environment and budget."""
    cells = {(str(cell.flat["environment"]), budget_of(cell), cell.flat[WARM]): cell for cell in results.done}
    pairs = dict.fromkeys((environment, budget) for environment, budget, _ in cells if budget[0] != REFERENCE)
    return {
        (environment, budget): results.final(cold) - results.final(warm)
        for environment, budget in pairs
        if (warm := cells.get((environment, budget, True)))
        and (cold := cells.get((environment, budget, False)))
    }


def tables(results: StudyResults) -> dict[str, StudyTable]:
    """A row per environment, sampler and number of steps."""
    rows = []
    for (environment, (sampler, steps)), by_run in differences(results).items():
        cost = mean_interval(by_run)
        rows.append(
            {
                "environment": environment,
                "sampler": sampler,
                "steps": steps,
                "cold_minus_warm": cost.value,
                "cold_minus_warm_low": cost.low,
                "cold_minus_warm_high": cost.high,
                "median": float(np.median(by_run)),
            }
        )
    columns = ("environment", "sampler", "steps", "cold_minus_warm", "median")
    return {"cold_starts": StudyTable("Cold against warm starts", CAPTION, columns, to_frame(rows))}
