"""The table of the study `calibration`: the ranks of each cell at each probed round."""

from experiments.analysis.results import StudyResults
from experiments.analysis.summary import to_frame
from experiments.studies import StudyTable
from experiments.studies.calibration.ranks import verdicts_of

CAPTION = (
    "Ranks of the truth among draws, by cell and round. The variance is that of the ranks over that of uniform ones: "
    "above 1 for a posterior that is too narrow. The distance is the largest one between the ECDF and the uniform "
    "distribution; it has little power against a U shape. Verdicts: 1% false alarms over the whole table."
)
COLUMNS = ("cell", "round", "ranks", "variance", "variance_p", "distance", "distance_p", "verdict")


def tables(results: StudyResults) -> dict[str, StudyTable]:
    """A row per cell and probed round."""
    rows = [
        {
            "cell": one.of.label,
            "round": one.of.round,
            "ranks": len(one.of.ranks),
            "variance": one.test.spread,
            "variance_p": one.test.spread_p_value,
            "distance": one.test.statistic,
            "distance_p": one.test.p_value,
            "verdict": one.shape,
        }
        for one in verdicts_of(results)
    ]
    return {"ranks": StudyTable("Ranks of the truth", CAPTION, COLUMNS, to_frame(rows))}
