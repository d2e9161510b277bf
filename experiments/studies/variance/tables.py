"""The table of the study `variance`: regret by what is known of sigma_t."""

from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import paired_difference
from experiments.analysis.summary import Row, to_frame
from experiments.config.cell import OMITTED
from experiments.studies import StudyTable

SIGMA = "posterior.variance"
REVEALED, HOMOSCEDASTIC = "revealed", "fgts_b"
CAPTION = (
    "What it costs not to know sigma_t. Paired differences in final regret to the case where sigma_t is revealed "
    "before the action, and to homoscedastic FGTS, which does not use it; mean with its 95% interval."
)


def cost_rows(results: StudyResults) -> list[Row]:
    """A row per noise and variance model, where sigma_t is revealed in another cell."""
    rows = []
    for noise in dict.fromkeys(cell.flat.get("noise", OMITTED["noise"]) for cell in results.done):
        regret = {
            str(cell.flat.get(SIGMA, cell.flat["posterior"])): results.final(cell)
            for cell in results.done
            if cell.flat.get("noise", OMITTED["noise"]) == noise
        }
        if REVEALED not in regret:
            continue
        for name, final in regret.items():
            row: Row = {"noise": noise, "variance": name, "regret": float(final.mean())}
            for other, key in ((REVEALED, "to_revealed"), (HOMOSCEDASTIC, "to_homoscedastic")):
                if other in regret and name != other:
                    difference = paired_difference(final, regret[other])
                    row |= {
                        key: difference.value,
                        f"{key}_low": difference.low,
                        f"{key}_high": difference.high,
                    }
            rows.append(row)
    return rows


def tables(results: StudyResults) -> dict[str, StudyTable]:
    """The costs."""
    columns = ("noise", "variance", "regret", "to_revealed", "to_homoscedastic")
    return {
        "cost_of_variance": StudyTable(
            "Cost of unknown variances", CAPTION, columns, to_frame(cost_rows(results))
        )
    }
