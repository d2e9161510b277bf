"""The table of the study `drift`: every cell's distance from the oracle around the jump, and its cost."""

from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import mean_interval
from experiments.analysis.summary import to_frame
from experiments.studies import StudyTable
from experiments.studies.drift.recovery import recoveries

CAPTION = (
    "Around the jump. `tv_before`: action-TV to exact draws from the same posterior above its Monte Carlo floor, "
    "before the jump. `tv_rise`: its largest rise above that afterwards (95% over all probes). `rounds_until_back`: "
    "until no rise is certain any more. `regret_after` the jump, and `gap_after`, that beyond exact draws."
)


def tables(results: StudyResults) -> dict[str, StudyTable]:
    """A row per cell."""
    rows = []
    for one in recoveries(results):
        before, rise, regret = one.before, one.peak, mean_interval(one.regret)
        row = {
            "sampler": one.cell.flat["sampler"],
            "start": "" if one.name.startswith("exact") else one.start,
            "discount": one.cell.flat.get("posterior.discount") or 1.0,
            "tv_before": before.value,
            "tv_before_low": before.low,
            "tv_before_high": before.high,
            "tv_rise": rise.value,
            "tv_rise_low": rise.low,
            "tv_rise_high": rise.high,
            "rounds_until_back": f"over {max(one.probes)}" if one.rounds is None else str(one.rounds),
            "regret_after": regret.value,
            "regret_after_low": regret.low,
            "regret_after_high": regret.high,
        }
        if one.gap is not None:
            row |= {"gap_after": one.gap.value, "gap_after_low": one.gap.low, "gap_after_high": one.gap.high}
        rows.append(row)
    columns = (
        "sampler", "start", "discount", "tv_before", "tv_rise", "rounds_until_back", "regret_after", "gap_after",
    )  # fmt: skip
    return {"recovery": StudyTable("Around the jump", CAPTION, columns, to_frame(rows))}
