"""The table of the study `neural`: every algorithm in per cent of uniform play."""

from experiments.analysis.arrays import gradients_per_round
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import paired_ratio
from experiments.analysis.summary import Row, to_frame
from experiments.studies import StudyTable
from experiments.studies.neural.findings import algorithm, by_panel

CAPTION = "Regret in per cent of that of uniform play with 95% intervals, runs with the same random numbers."


def tables(results: StudyResults) -> dict[str, StudyTable]:
    """A row per panel and algorithm, from the least regret."""
    rows: list[Row] = []
    for panel, cells in by_panel(results).items():
        uniform = [cell for cell in cells if cell.flat["agent"] == "uniform"]
        for cell in cells:
            row: Row = {
                "panel": panel,
                "algorithm": algorithm(cell),
                "regret": float(results.final(cell).mean()),
                "gradients_per_round": gradients_per_round(results.data[cell.id]),
            }
            if uniform:
                share = paired_ratio(results.final(cell), results.final(uniform[0]))
                bounds = zip(("percent", "percent_low", "percent_high"), share, strict=True)
                row |= {name: 100 * bound for name, bound in bounds}
            rows.append(row)
    columns = ("panel", "algorithm", "regret", "percent", "gradients_per_round")
    return {"networks": StudyTable("In per cent of uniform play", CAPTION, columns, to_frame(rows))}
