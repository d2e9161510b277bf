"""The table of the study `propensity`: error of the propensities and bias of the estimates, by sampler."""

from experiments.analysis.results import StudyResults
from experiments.analysis.summary import to_frame
from experiments.studies import StudyTable
from experiments.studies.propensity.biases import ESTIMATORS, logged

CAPTION = (
    "Value of the uniform policy, estimated from each run's log, less the true one: mean over runs with its 95% "
    "interval. `action_tv`: distance of the sampler's arms from those of exact draws, by the two propensities of the "
    "played arms; the row of exact draws is its floor. `propensities`: from replicas of the sampler's draw, or of "
    "exact draws from the posterior, logged as if the sampler were exact."
)


def tables(results: StudyResults) -> dict[str, StudyTable]:
    """A row per sampler and source of the propensities."""
    rows = []
    for one in logged(results):
        error = one.total_variation
        for source in one.biases:
            row = {
                "sampler": one.name,
                "propensities": source,
                "action_tv": error.value,
                "action_tv_low": error.low,
                "action_tv_high": error.high,
            }
            for estimator in ESTIMATORS:
                bias = one.bias(source, estimator)
                row |= {estimator: bias.value, f"{estimator}_low": bias.low, f"{estimator}_high": bias.high}
            rows.append(row)
    columns = ("sampler", "propensities", "action_tv", *ESTIMATORS)
    return {"biases": StudyTable("Bias of estimates from logs", CAPTION, columns, to_frame(rows))}
