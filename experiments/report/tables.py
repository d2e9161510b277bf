"""The report's tables as plain data: captions, headings, and fields with what they sort by."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval, known_median
from experiments.analysis.summary import LARGE_REGRET, NAMES, Row, records, regret_gap_of
from experiments.report.fields import (
    CELL,
    Column,
    Field,
    Table,
    interval,
    make_table,
    of,
    plain,
    shown,
    without_constants,
)
from experiments.studies import StudyTable
from fgtsva_ppl.diagnostics import METRICS

FIXED = (*NAMES, "runs", "rounds", "seed")
JOINED = (  # shown in one field with another, or in a section of their own
    "status",
    "reason",
    "final_regret_mean",
    "final_regret_se",
    "regret_gap",
    "regret_gap_low",
    "regret_gap_high",
    "regret_gap_median",
    "fraction_large_regret",
    "best",
    "gap_to_best",
    "gap_to_best_low",
    "gap_to_best_high",
)
TAILS = {
    "regret_gap_median": "median gap",
    "fraction_large_regret": f"runs above {LARGE_REGRET:g}\u00d7 exact",
}
HEADINGS = {
    "final_regret_median": "median regret",
    "acceptance_rate": "acceptance",
    "num_divergent": "divergences",
    "num_resets": "resets",
    "gradients_per_round": "gradients / round",
    "seconds": "computing, s",
    "compile_seconds": "compiling, s",
    "diagnose_seconds": "diagnosing, s",
}


class QualityTable(NamedTuple):
    """Medians of diagnostics, what its columns mean, and which cells lack a reference."""

    table: Table
    unavailable: str
    meanings: list[tuple[str, str]]


def rows_of(results: StudyResults) -> list[Row]:
    """The rows of the summary, each with the id of its cell."""
    return records(results.summary.rename_axis(CELL).reset_index())


def heading(metric: str) -> str:
    """A diagnostic's name as a heading, in which R-hat is not broken."""
    return METRICS[metric].heading.replace("R-hat", "R\u2011hat")


def _regret(row: Row) -> Field:
    mean, error = row.get("final_regret_mean"), row.get("final_regret_se")
    if mean is None:
        return Field("–", None)
    if error is None or error != error:
        return Field(shown(mean), float(mean))
    decimals = _spread(row).decimals
    return Field(f"{mean:.{decimals}f} ± {error:.{decimals}f}".replace("-", "−"), float(mean))


def _spread(row: Row) -> Interval:
    """Mean regret and one standard error on either side."""
    mean, error = (float(row.get(f"final_regret_{name}", float("nan"))) for name in ("mean", "se"))
    return Interval(mean, mean - error, mean + error)


def _median(key: str, mean: Callable[[Row], Interval | None]) -> Callable[[Row], Field]:
    """A median in the digits of the mean beside it."""

    def field(row: Row) -> Field:
        value, ends = row.get(key), mean(row)
        if value is None or ends is None or ends.low != ends.low:
            return plain(value)
        return Field(f"{value:.{ends.decimals}f}".replace("-", "−"), float(value))

    return field


MEDIANS = {
    "final_regret_median": _median("final_regret_median", _spread),
    "regret_gap_median": _median("regret_gap_median", regret_gap_of),
}


def _differing(rows: Sequence[Row], keys: Sequence[str]) -> list[str]:
    return [key for key in keys if len({row.get(key) for row in rows}) > 1]


def naming_columns(rows: Sequence[Row]) -> list[Column]:
    """The columns that distinguish rows: sampler or agent, environment, and the settings that differ."""
    who = [key for key in _differing(rows, ("agent", "posterior", "sampler")) if key != "sampler"]
    main = "sampler" if any("sampler" in row for row in rows) else "agent"
    settings = list(dict.fromkeys(key for row in rows for key in row if "." in key))
    keys = [
        main,
        *(key for key in who if key != main),
        *_differing(rows, ("environment", "runs", "rounds", "seed")),
    ]
    return [Column(key.partition(".")[2] or key, of(key)) for key in [*keys, *settings]]


def summary_table(rows: Sequence[Row]) -> Table | None:
    """Regret, its gap to exact draws, and what it cost; None without cells."""
    if not rows:
        return None
    present = dict.fromkeys(key for row in rows for key in row if "." not in key)
    known = [key for key in HEADINGS if key in present]
    others = [key for key in present if key not in (*FIXED, *JOINED, *HEADINGS, *METRICS, CELL)]
    columns = [
        *naming_columns(rows),
        Column("regret", _regret),
        *(
            Column(HEADINGS.get(key, key.replace("_", " ")), MEDIANS.get(key, of(key)))
            for key in [*known, *others]
        ),
    ]
    caption = "Regret and cost. Regret at the end: mean over runs ± standard error, and median."
    at = 1 + next((i for i, c in enumerate(columns) if c.heading == "regret"), len(columns) - 1)
    if any("gap_to_best" in row for row in rows):
        columns[at:at] = [Column("gap to best", interval("gap_to_best", signed=True))]
        caption += (
            " Gap to best: paired difference to the cell with the least regret under the same random numbers, mean "
            "with its 95% interval."
        )
    if any("regret_gap" in row for row in rows):
        tails = [Column(text, MEDIANS.get(key, of(key))) for key, text in TAILS.items() if key in present]
        columns[at:at] = [Column("gap to exact", interval("regret_gap", signed=True)), *tails]
        caption += (
            " Gap: paired difference to exact draws under the same random numbers, mean with its 95% interval, and "
            f"median. Beside them the fraction of runs with more than {LARGE_REGRET:g} times the mean regret of exact "
            "draws: a few of them carry a mean."
        )
    constant = [
        f"{key} {rows[0][key]}" for key in FIXED if key in rows[0] and key not in _differing(rows, FIXED)
    ]
    caption += f" All cells: {', '.join(constant)}." if constant else ""
    table = make_table(caption, columns, rows)
    assert table is not None
    return without_constants(table, len(naming_columns(rows)) + 1)


def pairwise_table(rows: Sequence[Row]) -> Table | None:
    """Differences between cells under the same random numbers; None where there are no two."""
    columns = [
        Column("first", of("first")),
        Column("second", of("second")),
        *([Column("environment", of("panel"))] if _differing(rows, ("panel",)) else []),
        Column("first − second", interval("difference", signed=True)),
        Column("less regret", of("less_regret")),
    ]
    caption = (
        "Every pair of cells. Mean paired difference in final regret under the same random numbers, with its 95% "
        "interval; of many cells each is compared with the best only."
    )
    return make_table(caption, columns, rows)


def standings_table(rows: Sequence[Row]) -> Table | None:
    """Algorithms at textbook and tuned settings; None where none were compared."""
    columns = [Column(key, of(key)) for key in ("algorithm", "environment", "level", "setting")]
    columns += [Column("regret", _regret), Column("growth", interval("growth"))]
    caption = (
        "Textbook and tuned settings. Tuned: least mean regret on other seeds than the one shown. Growth: log2 of the "
        "regret after all rounds over that after half of them; 0 when everything is learnt, 0.5 like the root of T, "
        "1 when nothing is."
    )
    return make_table(caption, columns, rows)


def study_table(own: StudyTable) -> Table | None:
    """A table of a study's own; a column that has its ends beside it is shown with them."""
    columns = [
        Column(key.replace("_", " "), interval(key) if f"{key}_low" in own.frame else of(key))
        for key in own.columns
    ]
    return make_table(own.caption, columns, records(own.frame))


def quality_table(results: StudyResults) -> QualityTable | None:
    """Medians of the diagnostics over diagnosed runs and probe rounds; None where nothing was diagnosed."""
    rows = rows_of(results)
    medians = [_medians(results, cell.id) for cell in results.cells]
    chosen = [{**row, "_medians": known} for row, known in zip(rows, medians, strict=True) if known]
    keys = [key for key in METRICS if any(key in row["_medians"] for row in chosen)]
    columns = [*naming_columns(rows), *(Column(heading(key), _median_field(key)) for key in keys)]
    caption = (
        "Sampler quality. Medians over diagnosed runs and probe rounds; – where a diagnostic does not apply."
    )
    meanings = [(heading(key), METRICS[key].doc) for key in keys]
    table = make_table(caption, columns, chosen)
    return None if table is None else QualityTable(table, _unavailable(results), meanings)


def _unavailable(results: StudyResults) -> str:
    """Which cells have rounds without an exact reference, and why: there a dash means unknown."""
    sentences = []
    for cell in results.done:
        stored = results.data[cell.id].children.get("diagnostics")
        rejections = "" if stored is None else str(stored.attrs.get("rejections", ""))
        if rejections:
            sentences.append(f"{cell.flat['environment']} {cell.flat.get('sampler', '')}: {rejections}.")
    return " ".join(sentences)


def _median_field(key: str) -> Callable[[Row], Field]:
    return lambda row: plain(row["_medians"].get(key))


def _medians(results: StudyResults, cell: str) -> Mapping[str, float]:
    """Of the diagnostics that a cell has, without those that are NaN everywhere."""
    data = results.data.get(cell)
    if data is None or "diagnostics" not in data.children:
        return {}
    stored = data.children["diagnostics"].dataset
    medians = {name: known_median(stored[name].values) for name in METRICS if name in stored}
    return {name: median for name, median in medians.items() if not np.isnan(median)}
