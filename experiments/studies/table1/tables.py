"""The table of the study `table1`: the fitted exponents beside those of the theory."""

from experiments.analysis.results import StudyResults
from experiments.analysis.summary import to_frame
from experiments.studies import StudyTable
from experiments.studies.table1.scaling import scaling_lines, scaling_rows

CAPTION = (
    "Exponents. Slopes of log regret with 95% intervals, beside those of Table 1. Growth with the rounds, at the "
    "point where it is fastest: where it is near 1, regret is linear and the exponent is not a rate."
)


def tables(results: StudyResults) -> dict[str, StudyTable]:
    """A row per algorithm, axis and level of tuning."""
    columns = ("algorithm", "axis", "level", "exponent", "theory", "growth")
    frame = to_frame(scaling_rows(scaling_lines(results)))
    return {"scaling": StudyTable("Exponents", CAPTION, columns, frame)}
