"""The tables of the study `blindness`: what each diagnostic misses, and what is seen of each cell."""

from collections.abc import Sequence

from experiments.analysis.results import StudyResults
from experiments.analysis.summary import Row, to_frame
from experiments.studies import StudyTable
from experiments.studies.blindness.examined import SIGNS, Examined, examine
from fgtsva_ppl.diagnostics import METRICS

DIAGNOSTICS_CAPTION = (
    "What diagnostics miss. Cells in which a diagnostic looks good although actions are wrong or regret is above that "
    "of exact draws (misses), and bad although they are not (false alarms), of those to which it applies."
)
CELLS_CAPTION = (
    "Cell by cell. Actions are wrong where their total variation to exact draws is above three of its floors and 0.02. "
    "Alarms: diagnostics without exact draws that look bad."
)


def tables(results: StudyResults) -> dict[str, StudyTable]:
    """A row per diagnostic, and a row per cell."""
    cells = examine(results)
    columns = (
        "diagnostic",
        "looks_good",
        "misses_actions",
        "false_alarms_actions",
        "misses_regret",
        "false_alarms_regret",
    )
    cell_columns = ("cell", "environment", "actions", "total_variation", "floor", "regret_gap", "alarms")
    return {
        "misses": StudyTable(
            "What diagnostics miss", DIAGNOSTICS_CAPTION, columns, to_frame(diagnostic_rows(cells))
        ),
        "examined": StudyTable("Cell by cell", CELLS_CAPTION, cell_columns, to_frame(cell_rows(cells))),
    }


def diagnostic_rows(cells: Sequence[Examined]) -> list[Row]:
    """Misses and false alarms of every diagnostic."""
    rows = []
    for key, sign in SIGNS.items():
        known = [cell for cell in cells if key in cell.good]
        row: Row = {"diagnostic": METRICS[key].heading, "looks_good": sign.rule}
        for what in ("actions", "regret"):
            bad = [cell for cell in known if (cell.wrong if what == "actions" else cell.costly)]
            fine = [cell for cell in known if cell not in bad]
            row[f"misses_{what}"] = f"{sum(cell.good[key] for cell in bad)} of {len(bad)}"
            row[f"false_alarms_{what}"] = f"{sum(not cell.good[key] for cell in fine)} of {len(fine)}"
        rows.append(row)
    return rows if cells else []


def cell_rows(cells: Sequence[Examined]) -> list[Row]:
    """What is true of every cell, and what its diagnostics say."""
    return [
        {
            "cell": cell.label,
            "environment": cell.environment,
            "actions": "wrong" if cell.wrong else "right",
            "total_variation": cell.medians["total_variation"],
            "floor": cell.medians["total_variation_floor"],
            "regret_gap": cell.regret_gap.value,
            "regret_gap_low": cell.regret_gap.low,
            "regret_gap_high": cell.regret_gap.high,
            "alarms": ", ".join(cell.alarms) or "none",
        }
        for cell in cells
    ]
